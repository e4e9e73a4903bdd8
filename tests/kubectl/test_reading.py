"""What kubectl shows: forms of output, selection, watching, discovery."""

import json

import pytest

from tests.kubectl.command import Kubectl
from tests.kubectl.manifests import VOLUME, claim, pod, stateful_set


def named(document: dict[str, object], name: str, **labels: str) -> dict[str, object]:
    return {**document, "metadata": {"name": name, "labels": labels}}


def many(*documents: dict[str, object]) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "List", "items": list(documents)}


@pytest.fixture
def claims(kubectl: Kubectl) -> Kubectl:
    """A namespace with three claims, `c` the largest and `b` the odd one out."""
    wanted = {"a": ("2Gi", "red"), "b": ("1Gi", "blue"), "c": ("30Gi", "red")}
    kubectl(
        "create",
        "-f",
        "-",
        stdin=many(
            *(
                named(claim(resources={"requests": {"storage": size}}), name, colour=colour)
                for name, (size, colour) in wanted.items()
            )
        ),
    )
    return kubectl


def test_lists_are_sorted_by_name_and_selected_by_label(claims: Kubectl) -> None:
    assert claims("get", "pvc", "-o", "name").split() == [
        f"persistentvolumeclaim/{name}" for name in "abc"
    ]
    red = claims("get", "pvc", "-l", "colour in (red)", "-o", "jsonpath={.items[*].metadata.name}")
    assert red == "a c"
    by_field = claims("get", "pvc", "--field-selector=metadata.name!=a", "-o", "name")
    assert by_field.split() == ["persistentvolumeclaim/b", "persistentvolumeclaim/c"]


def test_columns_of_ones_own_and_sorting(claims: Kubectl) -> None:
    columns = "custom-columns=NAME:.metadata.name,SIZE:.spec.resources.requests.storage"
    shown = claims("get", "pvc", "-o", columns, "--sort-by=.spec.resources.requests.storage")
    assert [line.split() for line in shown.splitlines()] == [
        ["NAME", "SIZE"],
        ["b", "1Gi"],
        ["a", "2Gi"],
        ["c", "30Gi"],
    ]


def test_a_list_in_pages_is_the_same_list(claims: Kubectl) -> None:
    paged = claims("get", "pvc", "--chunk-size=1").splitlines()
    # Not the whole lines: the age grows while we look.
    assert [line.split()[:2] for line in paged] == [
        ["NAME", "STATUS"],
        ["a", "Pending"],
        ["b", "Pending"],
        ["c", "Pending"],
    ]


def test_labels_are_shown_as_columns(claims: Kubectl) -> None:
    heading, *rows = claims("get", "pvc", "-L", "colour", "--show-labels").splitlines()
    assert "COLOUR" in heading
    assert [("red" in row, "colour=" in row) for row in rows] == [
        (True, True),
        (False, True),
        (True, True),
    ]


def test_several_kinds_and_all_namespaces_at_once(claims: Kubectl) -> None:
    claims("create", "-f", "-", stdin=named(pod(), "p"))
    shown = claims("get", "pvc,pods", "--no-headers", "-o", "name").split()
    assert shown[-1] == "pod/p"
    everywhere = claims("get", "pvc", "-A")
    assert everywhere.splitlines()[0].startswith("NAMESPACE")
    assert claims.namespace in everywhere


def test_an_empty_namespace_says_so(kubectl: Kubectl) -> None:
    ended = kubectl.run("get", "pods")
    assert f"No resources found in {kubectl.namespace} namespace" in ended.stderr


def test_get_all_shows_pods_and_stateful_sets(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=many(named(pod(), "p"), named(stateful_set(), "web")))
    shown = kubectl("get", "all")
    assert "pod/p" in shown
    assert "statefulset.apps/web" in shown


def test_a_watch_shows_what_happens(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=named(claim(), "first"))
    with kubectl.start("get", "pvc", "--watch", "--no-headers") as watch:
        assert watch.line().split()[:2] == ["first", "Pending"]
        kubectl("create", "-f", "-", stdin=named(claim(), "second"))
        assert watch.line().startswith("second")
        status = '{"status":{"phase":"Bound"}}'
        kubectl("patch", "pvc", "first", "--subresource=status", "--type=merge", "-p", status)
        assert watch.line().split()[:2] == ["first", "Bound"]


def test_a_watch_in_json_tells_of_deletion(kubectl: Kubectl) -> None:
    words = ["get", "configmaps", "mine", "-o", "json", "--output-watch-events", "--watch"]
    kubectl("create", "configmap", "mine", "--from-literal=key=value")
    with kubectl.start(*words) as watch:
        assert _event(watch.line) == ("ADDED", "value")
        kubectl("delete", "configmap", "mine")
        assert _event(watch.line) == ("DELETED", "value")


def _event(line: object) -> tuple[str, str]:
    """Type and content of the next event; kubectl spreads each over several lines."""
    assert callable(line)
    text = ""
    while True:
        text += line()
        try:
            event = json.loads(text)
        except ValueError:
            continue
        return event["type"], event["object"]["data"]["key"]


def test_explain_knows_fields_and_their_types(kubectl: Kubectl) -> None:
    assert "<string>" in kubectl("explain", "pvc.spec.storageClassName")
    assert "volumeHandle" in kubectl("explain", "pv.spec.csi")
    tree = kubectl("explain", "sts.spec.template.spec.containers", "--recursive")
    assert "valueFrom" in tree
    assert "does not exist" in kubectl.refused("explain", "pvc.spec.nonsense")


def test_resources_are_known_by_short_name_and_scope(kubectl: Kubectl) -> None:
    shown = kubectl("api-resources")
    rows = {line.split()[0]: line.split() for line in shown.splitlines()[1:]}
    assert rows["persistentvolumeclaims"][1:] == ["pvc", "v1", "true", "PersistentVolumeClaim"]
    assert rows["storageclasses"][1:] == ["sc", "storage.k8s.io/v1", "false", "StorageClass"]
    assert "csistoragecapacities" in rows
    listable = kubectl("api-resources", "--verbs=list", "--namespaced=false", "-o", "name")
    assert "volumeattachments.storage.k8s.io" in listable.split()
    assert "storage.k8s.io/v1" in kubectl("api-versions").split()


def test_the_server_tells_its_version_and_health(kubectl: Kubectl) -> None:
    version = json.loads(kubectl("version", "-o", "json"))
    assert version["serverVersion"]["gitVersion"].startswith("v1.")
    assert kubectl("get", "--raw", "/readyz") == "ok"


def test_events_are_shown_beside_their_object(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=named(claim(), "data"))
    uid = kubectl("get", "pvc", "data", "-o", "jsonpath={.metadata.uid}")
    kubectl("create", "-f", "-", stdin=_event_about("data", uid, kubectl.namespace))

    for words in (("events",), ("get", "events"), ("describe", "pvc", "data")):
        shown = kubectl(*words)
        assert "ProvisioningFailed" in shown, words
        assert "no node has room for 1Gi" in shown, words
    assert "no node has room" in kubectl("events", "--for", "pvc/data", "--types=Warning")


def _event_about(claim_name: str, uid: str, namespace: str) -> dict[str, object]:
    about = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": claim_name,
        "namespace": namespace,
        "uid": uid,
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{claim_name}.1"},
        "involvedObject": about,
        "type": "Warning",
        "reason": "ProvisioningFailed",
        "message": "no node has room for 1Gi",
        "source": {"component": "test"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
    }


def test_who_am_i_and_what_may_i_do(kubectl: Kubectl) -> None:
    assert "system:masters" in kubectl("auth", "whoami")
    assert kubectl("auth", "can-i", "create", "pods").strip() == "yes"


def test_a_wrong_name_is_told_plainly(kubectl: Kubectl) -> None:
    complaint = kubectl.refused("get", "pvc", "nothing")
    assert 'persistentvolumeclaims "nothing" not found' in complaint
    assert 'the server doesn\'t have a resource type "nonsense"' in kubectl.refused(
        "get", "nonsense"
    )


def test_describing_a_volume_shows_its_claim(kubectl: Kubectl) -> None:
    spec = VOLUME["spec"]
    assert isinstance(spec, dict)
    bound = {**spec, "claimRef": {"namespace": kubectl.namespace, "name": "data"}}
    kubectl("create", "-f", "-", stdin=named({**VOLUME, "spec": bound}, kubectl.namespace))
    assert f"{kubectl.namespace}/data" in kubectl("describe", "pv", kubectl.namespace)
    assert f"{kubectl.namespace}/data" in kubectl("get", "pv", kubectl.namespace)
