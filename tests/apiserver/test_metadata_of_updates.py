"""What an update may do to an object's metadata, beyond what all kinds have in common."""

import pytest

from plimsoll.api.registry import Document
from tests.apiserver.api import MAPS, Api

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.mark.parametrize(("place", "status"), [(MAPS, 422), (LEASES, 200)])
async def test_some_kinds_check_a_prefix_for_names_that_comes_too_late(
    api: Api, place: str, status: int
) -> None:
    await api.ask("POST", place, {"metadata": {"name": "a"}})
    patched = await api.ask("PATCH", f"{place}/a", {"metadata": {"generateName": "Bad_"}})
    assert patched.status == status


async def test_a_patch_cannot_move_an_object_to_another_namespace(api: Api) -> None:
    await api.create("a")
    moved = await api.ask("PATCH", f"{MAPS}/a", {"metadata": {"namespace": "other"}})
    assert (moved.status, moved.document["reason"]) == (400, "BadRequest")


async def test_changes_of_a_priority_class_are_not_counted(api: Api) -> None:
    await api.ask("POST", CLASSES, {"metadata": {"name": "a"}, "value": 1})
    changed = await api.ask("PATCH", f"{CLASSES}/a", {"description": "new"})
    assert changed.document["description"] == "new"
    assert changed.document["metadata"]["generation"] == 1


async def test_labels_are_checked_by_the_update_that_changes_them(api: Api) -> None:
    await api.create("a")
    bad = await api.ask("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"app": "not a value"}}})
    assert (bad.status, bad.document["details"]["causes"][0]["field"]) == (422, "metadata.labels")


ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}
NEW_LABELS = {"labels": {"app": "new"}, "annotations": {"note": "new"}}

AN_ATTACHMENT = {
    "metadata": {"name": "a", "labels": {"app": "a"}},
    "spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
}
A_DEPLOYMENT = {
    "metadata": {"name": "a", "labels": {"app": "a"}},
    "spec": {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": CONTAINERS},
    },
}
A_FLOW_SCHEMA = {
    "metadata": {"name": "a", "labels": {"app": "a"}},
    "spec": {"priorityLevelConfiguration": {"name": "p"}, "matchingPrecedence": 1},
}
A_CLAIM = {
    "metadata": {"name": "a", "labels": {"app": "a"}},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


@pytest.mark.parametrize(
    ("place", "document", "kept"),
    [
        pytest.param(ATTACHMENTS, AN_ATTACHMENT, ("a", None), id="nothing of an attachment"),
        pytest.param(
            "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
            A_FLOW_SCHEMA,
            ("a", None),
            id="nothing of a flow schema",
        ),
        pytest.param(DEPLOYMENTS, A_DEPLOYMENT, ("a", "new"), id="all of a deployment but labels"),
        pytest.param(CLAIMS, A_CLAIM, ("new", "new"), id="everything of a claim"),
    ],
)
async def test_each_kind_has_its_rule_which_metadata_goes_with_its_status(
    api: Api, place: str, document: Document, kept: tuple[str, str | None]
) -> None:
    assert (await api.ask("POST", place, document)).status == 201
    reply = await api.ask("PATCH", f"{place}/a/status", {"metadata": NEW_LABELS})
    assert reply.status == 200
    meta = reply.document["metadata"]
    assert (meta["labels"]["app"], meta.get("annotations", {}).get("note")) == kept


async def test_the_status_of_a_pod_is_written_whatever_its_metadata_say_of_deletion_and_owners(
    api: Api,
) -> None:
    await api.ask("POST", PODS, {"metadata": {"name": "a"}, "spec": CONTAINERS})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "b", "uid": "u"}
    meddling = {"deletionTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": [owner]}
    reply = await api.ask(
        "PATCH", f"{PODS}/a/status", {"metadata": meddling, "status": {"phase": "Running"}}
    )
    assert (reply.status, reply.document["status"]["phase"]) == (200, "Running")
    assert reply.document["metadata"].keys().isdisjoint(meddling)


async def test_owned_fields_are_shown_in_one_order_whichever_manager_wrote_them(api: Api) -> None:
    ports = [{"containerPort": 443}, {"containerPort": 80}]
    container = {"name": "c", "image": "i", "ports": ports, "args": ["x"]}
    pod = {"metadata": {"name": "a", "labels": {"z": "1", "a": "1"}}, "spec": {}}
    reply = await api.ask("POST", PODS, pod | {"spec": {"containers": [container]}})
    [entry] = reply.document["metadata"]["managedFields"]
    fields = entry["fieldsV1"]
    assert list(fields) == ["f:metadata", "f:spec"]
    assert list(fields["f:metadata"]["f:labels"]) == [".", "f:a", "f:z"]
    owned = fields["f:spec"]["f:containers"]['k:{"name":"c"}']
    assert list(owned) == sorted(owned)
    assert list(owned["f:ports"]) == [
        ".",
        'k:{"containerPort":80,"protocol":"TCP"}',
        'k:{"containerPort":443,"protocol":"TCP"}',
    ]
