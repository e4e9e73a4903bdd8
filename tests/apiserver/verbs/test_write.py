"""Creating and changing objects, as a client sees it."""

import asyncio

import pytest

from plimsoll.api.registry import Document, Resource, all_resources
from plimsoll.runtime.clock import SteppedClock
from tests.apiserver.api import MAPS, Api, a_map, serving
from tests.builders import a_node, document

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


async def test_a_new_object_gets_an_identity_a_time_and_a_version(
    api: Api, clock: SteppedClock
) -> None:
    meta = (await api.create("a")).document["metadata"]
    assert meta["namespace"] == "default"
    assert meta["creationTimestamp"] == clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert meta["uid"]
    assert int(meta["resourceVersion"]) > 0


async def test_a_name_is_taken_once(api: Api) -> None:
    await api.create("a", "first")
    second = await api.ask("POST", MAPS, a_map("a", "second"))
    assert (second.status, second.document["reason"]) == (409, "AlreadyExists")
    assert (await api.get("a")).document["data"] == {"text": "first"}


async def test_of_many_who_create_the_same_name_one_succeeds(api: Api) -> None:
    replies = await asyncio.gather(*(api.ask("POST", MAPS, a_map("a", str(n))) for n in range(9)))
    assert sorted(reply.status for reply in replies) == [201] + [409] * 8


async def test_of_many_who_build_on_the_same_version_one_succeeds(api: Api) -> None:
    old = (await api.create("a")).document
    replies = await asyncio.gather(
        *(api.ask("PUT", f"{MAPS}/a", old | {"data": {"n": str(n)}}) for n in range(9))
    )
    assert sorted(reply.status for reply in replies) == [200] + [409] * 8
    winner = next(reply for reply in replies if reply.status == 200)
    assert (await api.get("a")).document == winner.document


async def test_patches_that_name_no_version_all_count(api: Api) -> None:
    await api.create("a")
    await asyncio.gather(
        *(api.ask("PATCH", f"{MAPS}/a", {"data": {f"k{n}": "x"}}) for n in range(9))
    )
    assert len((await api.get("a")).document["data"]) == 10


async def test_an_update_that_changes_nothing_makes_no_new_version(api: Api) -> None:
    made = await api.create("a", "same")
    async with api.watch(resourceVersion=str(made.revision)) as watching:
        assert (await api.change("a", "same")).revision == made.revision
        assert await watching.events() == []


async def test_a_dry_run_answers_and_changes_nothing(api: Api) -> None:
    made = await api.create("a", "before")
    tried = await api.ask("POST", MAPS, a_map("b"), dryRun="All")
    assert tried.status == 201
    assert "resourceVersion" not in tried.document["metadata"]
    changed = await api.ask("PUT", f"{MAPS}/a", a_map("a", "after"), dryRun="All")
    assert changed.document["data"] == {"text": "after"}
    assert (await api.ask("DELETE", f"{MAPS}/a", dryRun="All")).status == 200
    listed = await api.list()
    assert (listed.names, listed.revision) == (["a"], made.revision)


async def test_a_generated_name_is_one_that_no_object_has(api: Api) -> None:
    replies = [await api.ask("POST", MAPS, {"metadata": {"generateName": "m-"}}) for _ in range(20)]
    names = {reply.document["metadata"]["name"] for reply in replies}
    assert len(names) == 20
    assert all(name.startswith("m-") and len(name) == 7 for name in names)


async def test_the_same_seed_gives_the_same_identities() -> None:
    uids = []
    for _ in range(2):
        async with serving() as api:
            uids.append((await api.create("a")).document["metadata"]["uid"])
    assert uids[0] == uids[1]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        pytest.param("POST", MAPS, a_map("Not_A_Name"), 422, id="bad-name"),
        pytest.param("POST", MAPS, {}, 422, id="no-name"),
        pytest.param("POST", MAPS, [], 400, id="a-list"),
        pytest.param("POST", MAPS, {"kind": "Pod"}, 400, id="another-kind"),
        pytest.param("POST", MAPS, {"metadata": {"name": 1}}, 400, id="wrong-type"),
        pytest.param(
            "POST", MAPS, {"metadata": {"name": "a", "namespace": "b"}}, 400, id="other-namespace"
        ),
        pytest.param(
            "POST", MAPS, {"metadata": {"name": "a", "resourceVersion": "1"}}, 400, id="versioned"
        ),
        pytest.param("POST", f"{MAPS}/a", a_map("a"), 405, id="post-to-an-object"),
        pytest.param("POST", "/api/v1/configmaps", a_map("a"), 405, id="post-without-namespace"),
        pytest.param("PUT", MAPS, a_map("a"), 405, id="put-to-a-collection"),
        pytest.param("PUT", f"{MAPS}/missing", a_map("missing"), 404, id="put-to-nothing"),
        pytest.param("PUT", f"{MAPS}/there", a_map("other"), 400, id="put-under-another-name"),
        pytest.param("PATCH", f"{MAPS}/missing", {}, 404, id="patch-of-nothing"),
        pytest.param("PATCH", f"{MAPS}/there", [], 400, id="patch-that-is-a-list"),
        pytest.param("BREW", MAPS, None, 405, id="unknown-method"),
    ],
)
async def test_what_makes_no_sense_is_refused_and_changes_nothing(
    api: Api, method: str, path: str, body: object, *, status: int
) -> None:
    made = await api.create("there")
    reply = await api.ask(method, path, body)
    assert reply.status == status
    assert reply.document["kind"] == "Status"
    listed = await api.list()
    assert (listed.names, listed.revision) == (["there"], made.revision)


async def test_a_lease_can_be_created_by_putting_it(api: Api) -> None:
    made = await api.ask("PUT", f"{LEASES}/l", {"metadata": {"name": "l"}})
    assert made.status == 201
    again = await api.ask("PUT", f"{LEASES}/l", made.document | {"spec": {"holderIdentity": "me"}})
    assert again.status == 200


async def test_objects_made_by_the_builders_are_taken(api: Api) -> None:
    body = document(a_node())
    del body["metadata"]["uid"]
    made = await api.ask("POST", "/api/v1/nodes", body)
    assert made.status == 201
    assert made.document["metadata"]["labels"] == {"kubernetes.io/hostname": "node-1"}


async def test_finalizers_of_a_namespace_change_through_their_subresource_and_are_checked(
    api: Api,
) -> None:
    path, body = "/api/v1/namespaces/team", {"metadata": {"name": "team"}}
    made = (await api.ask("POST", "/api/v1/namespaces", body)).document
    assert made["spec"] == {"finalizers": ["kubernetes"]}

    refused = await api.ask("PUT", f"{path}/finalize", body | {"spec": {"finalizers": ["x"]}})
    assert (refused.status, refused.document["reason"]) == (422, "Invalid")
    assert (await api.ask("GET", path)).document == made

    freed = await api.ask("PUT", f"{path}/finalize", body | {"spec": {"finalizers": ["a.b/c"]}})
    assert freed.document["spec"] == {"finalizers": ["a.b/c"]}


@pytest.mark.parametrize(
    ("path", "metadata", "more"),
    [
        ("pods/p/eviction", {"name": "p", "namespace": "team"}, {}),
        ("pods/p/binding", {"name": "p", "namespace": "team"}, {"target": {"name": "n"}}),
        ("bindings", {"name": "p", "namespace": "team"}, {"target": {"name": "n"}}),
        ("finalize", {"name": "team"}, {"spec": {"finalizers": ["a.b/c"]}}),
        ("finalize", {}, {"spec": {"finalizers": ["a.b/c"]}}),
    ],
)
async def test_a_body_that_is_about_another_object_changes_nothing(
    api: Api, path: str, metadata: Document, more: Document
) -> None:
    place = "/api/v1/namespaces/default"
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    before = [
        (await api.ask("POST", f"{place}/pods", pod)).document,
        (await api.ask("GET", place)).document,
    ]

    method = "PUT" if path == "finalize" else "POST"
    reply = await api.ask(method, f"{place}/{path}", {"metadata": metadata} | more)

    assert (reply.status, reply.document["reason"]) == (400, "BadRequest"), reply
    assert [
        (await api.ask("GET", f"{place}/pods/p")).document,
        (await api.ask("GET", place)).document,
    ] == before


def collection_path(resource: Resource) -> str:
    base = f"/apis/{resource.group}/{resource.version}" if resource.group else "/api/v1"
    return f"{base}{'/namespaces/default' if resource.namespaced else ''}/{resource.plural}"


async def test_objects_without_a_name_are_refused_whatever_their_kind(api: Api) -> None:
    stored = [each for each in all_resources() if {"create", "list"} <= set(each.verbs)]
    bodies: list[Document] = [{}, {"metadata": {}, "spec": {}}]
    for resource in stored:
        for body in bodies:
            reply = await api.ask("POST", collection_path(resource), body)
            assert reply.status == 422, (resource.plural, reply)


async def test_services_on_nodes_without_a_name_are_refused(api: Api) -> None:
    path = "/api/v1/namespaces/default/services"
    for kind in ("NodePort", "LoadBalancer"):
        spec = {"type": kind, "ports": [{"port": 80}], "externalTrafficPolicy": "Local"}
        assert (await api.ask("POST", path, {"spec": spec})).status == 422


async def test_who_creates_a_daemon_set_owns_the_count_of_its_templates(api: Api) -> None:
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    place = "/apis/apps/v1/namespaces/default/daemonsets"

    made = await api.ask("POST", place, {"metadata": {"name": "a"}, "spec": spec})

    counted = "deprecated.daemonset.template.generation"
    [entry] = made.document["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:metadata"]["f:annotations"] == {".": {}, f"f:{counted}": {}}
    assert made.document["metadata"]["annotations"] == {counted: "1"}


DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"


def a_deployment(name: str, variables: int = 0) -> Document:
    env = [{"name": f"V{n}", "value": "x" * 1000} for n in range(variables)]
    pod = {"containers": [{"name": "c", "image": "i", "env": env}]}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    ("path", "generation"),
    [
        pytest.param(f"{DEPLOYMENTS}/a", 2, id="of-a-deployment"),
        pytest.param(f"{REPLICA_SETS}/a", 1, id="of-a-replica-set"),
    ],
)
async def test_annotations_count_as_a_change_where_they_are_handed_on(
    api: Api, path: str, generation: int
) -> None:
    await api.ask("POST", path.removesuffix("/a"), a_deployment("a"))
    patch = {"metadata": {"annotations": {"a": "b"}}}
    annotated = await api.ask("PATCH", path, patch)
    again = await api.ask("PATCH", path, patch | {"status": {}})
    assert annotated.document["metadata"]["generation"] == generation
    assert again.document["metadata"]["generation"] == generation
    labelled = await api.ask("PATCH", path, {"metadata": {"labels": {"a": "b"}}})
    assert labelled.document["metadata"]["generation"] == generation


async def test_an_object_never_grows_beyond_what_etcd_would_store(api: Api) -> None:
    large = await api.ask("POST", DEPLOYMENTS, a_deployment("a", 1400))
    larger = await api.ask("POST", DEPLOYMENTS, a_deployment("b", 1600))
    assert (large.status, larger.status) == (201, 413)
    assert larger.document["reason"] == "RequestEntityTooLarge"
    assert "it may have at most 1572864" in larger.document["message"]
    assert (await api.ask("GET", f"{DEPLOYMENTS}/b")).status == 404
    more = {"metadata": {"annotations": {"a": "x" * 200_000}}}
    grown = await api.ask("PATCH", f"{DEPLOYMENTS}/a", more)
    assert grown.status == 413
    assert (await api.ask("GET", f"{DEPLOYMENTS}/a")).document == large.document
    assert (await api.ask("DELETE", f"{DEPLOYMENTS}/a")).status == 200


@pytest.mark.parametrize("way", ["PUT", "PATCH"])
async def test_a_small_object_may_grow_up_to_the_limit_without_its_owners(
    api: Api, way: str
) -> None:
    made = (await api.create("small")).document
    data = {f"{'k' * 80}{n}": "" for n in range(9999)}
    grown = await api.ask(way, f"{MAPS}/small", (made if way == "PUT" else {}) | {"data": data})
    assert grown.status == 200
    assert "managedFields" not in grown.document["metadata"]
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "small"}}
    assert (await api.apply(f"{MAPS}/small", applied)).status == 413


@pytest.mark.parametrize("part", ["binding", "status", "ephemeralcontainers"])
async def test_no_part_of_an_object_makes_it_larger_than_etcd_would_store(
    api: Api, part: str
) -> None:
    path = "/api/v1/namespaces/default/pods"
    containers = [{"name": "c", "image": "i", "env": [{"name": "A", "value": "x" * 900_000}]}]
    pod = {"metadata": {"name": "p"}, "spec": {"containers": containers}}
    assert (await api.ask("POST", path, pod)).status == 201
    long = "x" * 900_000
    bodies: dict[str, tuple[str, Document]] = {
        "binding": (
            "POST",
            {
                "metadata": {"name": "p", "annotations": {"a": long}},
                "target": {"kind": "Node", "name": "n"},
            },
        ),
        "status": ("PATCH", {"status": {"message": long}}),
        "ephemeralcontainers": (
            "PATCH",
            {"spec": {"ephemeralContainers": [containers[0] | {"name": "e"}]}},
        ),
    }
    method, body = bodies[part]
    reply = await api.ask(method, f"{path}/p/{part}", body)
    assert (reply.status, reply.document["reason"]) == (413, "RequestEntityTooLarge")
    small = await api.ask("GET", f"{path}/p")
    assert len(str(small.document)) < 1_000_000


async def test_a_large_object_is_stored_without_its_owners_but_not_applied_without_them(
    api: Api,
) -> None:
    path = f"{MAPS}/large"
    data = {f"{'k' * 80}{n}": "" for n in range(9999)}
    made = await api.ask("POST", MAPS, a_map("large") | {"data": data})
    assert made.status == 201
    assert "managedFields" not in made.document["metadata"]
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}}
    assert (await api.apply(path, applied)).status == 413
    changed = await api.ask("PATCH", path, {"data": {"a": "b"}})
    assert changed.status == 200
    assert "managedFields" not in changed.document["metadata"]


@pytest.mark.parametrize(
    ("path", "spec", "status"),
    [
        pytest.param(
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}},
            {"loadBalancer": {}},
            id="ingress",
        ),
        pytest.param(
            "/apis/networking.k8s.io/v1/servicecidrs", {"cidrs": ["10.0.0.0/24"]}, {}, id="range"
        ),
        pytest.param(
            "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
            {"scaleTargetRef": {"kind": "Deployment", "name": "a"}, "maxReplicas": 2},
            {"currentReplicas": 0, "desiredReplicas": 0},
            id="autoscaler-v1",
        ),
        pytest.param(
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            {"scaleTargetRef": {"kind": "Deployment", "name": "a"}, "maxReplicas": 2},
            {"currentMetrics": None, "desiredReplicas": 0},
            id="autoscaler-v2",
        ),
    ],
)
async def test_a_status_begins_as_that_of_the_real_server_whatever_the_client_says(
    api: Api, path: str, spec: Document, status: Document
) -> None:
    said = {"conditions": [{"type": "Fine", "status": "True"}]}
    body = {"metadata": {"name": "a"}, "spec": spec, "status": said}
    made = await api.ask("POST", path, body)
    assert made.document["status"] == status
    kept = await api.ask("PUT", f"{path}/a", made.document)
    assert kept.document["status"] == status
