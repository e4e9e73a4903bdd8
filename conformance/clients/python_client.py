"""The official Python client on a cluster, as its users write it; run by the peers' own Python.

Given a kubeconfig, it prints one line for each story. It ends with a traceback where the client
does not get what it would get from Kubernetes. Nothing of the client is set but the kubeconfig.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException

NAMESPACE = "python-client"
GROUP, VERSION, PLURAL = "example.com", "v1", "buoys"
DEFINITION_NAME = f"{PLURAL}.{GROUP}"
TIME_LIMIT_SECONDS = 60
LABELS = {"app": "web"}
CONTAINERS = [{"name": "main", "image": "pause"}]
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": DEFINITION_NAME},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": PLURAL, "singular": "buoy", "kind": "Buoy"},
        "versions": [
            {
                "name": VERSION,
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"depth": {"type": "integer", "minimum": 1}},
                            },
                            "status": {
                                "type": "object",
                                "properties": {"light": {"type": "string"}},
                            },
                        },
                    }
                },
            }
        ],
    },
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "64Mi"}},
    },
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "user"},
    "spec": {
        "containers": CONTAINERS,
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    },
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": CONTAINERS}},
    },
}


def refused(status: int, call: Callable[..., Any], *arguments: Any, **options: Any) -> ApiException:
    """The error of a call that must not succeed."""
    try:
        answer = call(*arguments, **options)
    except ApiException as error:
        refusal = error
    else:
        raise AssertionError(f"not refused: {answer}")
    assert refusal.status == status, f"{refusal.status} and not {status}: {refusal.body}"
    return refusal


def events(listing: Callable[..., Any], **options: Any) -> Iterator[dict[str, Any]]:
    """What a watch tells, until the time limit."""
    yield from watch.Watch().stream(listing, timeout_seconds=TIME_LIMIT_SECONDS, **options)


def wait(what: str, listing: Callable[..., Any], suits: Callable[[Any], bool]) -> Any:
    """The first object of a namespace, as a watch tells of it, that suits."""
    for event in events(listing, namespace=NAMESPACE):
        if suits(event["object"]):
            return event["object"]
    raise AssertionError(f"not seen in {TIME_LIMIT_SECONDS} s: {what}")


def settings_of_a_map(core: Any, name: str) -> dict[str, str]:
    data: dict[str, str] = core.read_namespaced_config_map(name, NAMESPACE).data
    return data


def story_discovery_and_version() -> None:
    version = client.VersionApi().get_code()
    assert version.git_version.startswith("v1."), version
    groups = {group.name for group in client.ApisApi().get_api_versions().groups}
    assert {"apps", "storage.k8s.io", "rbac.authorization.k8s.io"} <= groups, groups


def story_every_kind_is_listed_and_understood() -> None:
    """The client refuses answers in which a field is missing that must be there. That of
    events.k8s.io refuses events without an eventTime, which every cluster has: not asked."""
    apis = (
        client.AdmissionregistrationV1Api,
        client.ApiextensionsV1Api,
        client.AppsV1Api,
        client.BatchV1Api,
        client.CoordinationV1Api,
        client.CoreV1Api,
        client.DiscoveryV1Api,
        client.FlowcontrolApiserverV1Api,
        client.NetworkingV1Api,
        client.NodeV1Api,
        client.PolicyV1Api,
        client.RbacAuthorizationV1Api,
        client.SchedulingV1Api,
        client.StorageV1Api,
    )
    asked = 0
    for api in (each() for each in apis):
        listings = [
            name
            for name in dir(api)
            if name.startswith("list_")
            and not name.endswith("_with_http_info")
            and not name.startswith("list_namespaced_")
        ]
        for name in listings:
            assert getattr(api, name)().metadata.resource_version, name
        asked += len(listings)
    assert asked >= 45, f"only {asked} kinds were asked for"
    print(f"{asked} kinds", flush=True)


def story_create_read_replace_patch_and_delete() -> None:
    core = client.CoreV1Api()
    made = core.create_namespaced_config_map(
        NAMESPACE,
        client.V1ConfigMap(metadata=client.V1ObjectMeta(name="chart"), data={"sea": "north"}),
    )
    made.data["sea"] = "south"
    replaced = core.replace_namespaced_config_map("chart", NAMESPACE, made)
    assert int(replaced.metadata.resource_version) > int(made.metadata.resource_version)
    error = refused(409, core.replace_namespaced_config_map, "chart", NAMESPACE, made)
    assert '"reason":"Conflict"' in error.body, error.body
    core.patch_namespaced_config_map("chart", NAMESPACE, {"data": {"wind": "west", "sea": None}})
    assert settings_of_a_map(core, "chart") == {"wind": "west"}
    operation = {"op": "replace", "path": "/data/wind", "value": "east"}
    core.patch_namespaced_config_map("chart", NAMESPACE, [operation])
    assert settings_of_a_map(core, "chart") == {"wind": "east"}
    error = refused(422, core.create_namespaced_config_map, NAMESPACE, {"metadata": {"name": "A"}})
    assert "metadata.name" in error.body, error.body
    core.delete_namespaced_config_map("chart", NAMESPACE)
    refused(404, core.read_namespaced_config_map, "chart", NAMESPACE)


def story_lists_by_pages_and_selectors() -> None:
    core = client.CoreV1Api()
    for number in range(7):
        meta = {"name": f"page-{number}", "labels": {"odd": str(number % 2)}}
        core.create_namespaced_config_map(NAMESPACE, {"metadata": meta})
    names, pages, token = [], 0, None
    while token != "":
        page = core.list_namespaced_config_map(
            NAMESPACE, label_selector="odd", limit=3, _continue=token
        )
        names += [item.metadata.name for item in page.items]
        pages, token = pages + 1, page.metadata.to_dict()["_continue"] or ""
    assert (names, pages) == ([f"page-{number}" for number in range(7)], 3), (names, pages)
    one = core.list_namespaced_config_map(NAMESPACE, field_selector="metadata.name=page-3")
    assert [item.metadata.name for item in one.items] == ["page-3"]
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="odd=1")
    left = core.list_namespaced_config_map(NAMESPACE, label_selector="odd").items
    assert [item.metadata.name for item in left] == ["page-0", "page-2", "page-4", "page-6"]


def story_a_watch_tells_every_change_from_a_version_on() -> None:
    core = client.CoreV1Api()
    since = core.list_namespaced_secret(NAMESPACE).metadata.resource_version
    core.create_namespaced_secret(NAMESPACE, {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    core.patch_namespaced_secret("s", NAMESPACE, {"metadata": {"labels": {"seen": "yes"}}})
    core.delete_namespaced_secret("s", NAMESPACE)
    told = []
    for event in events(core.list_namespaced_secret, namespace=NAMESPACE, resource_version=since):
        told.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            break
    assert told == [("ADDED", "s"), ("MODIFIED", "s"), ("DELETED", "s")], told
    short = watch.Watch().stream(core.list_namespaced_secret, NAMESPACE, timeout_seconds=1)
    assert list(short) == [], "a watch of nothing ends when its time is over"
    old = watch.Watch().stream(core.list_namespaced_secret, NAMESPACE, resource_version="1")
    refused(410, lambda: list(old))


def story_a_pod_gets_its_claim_and_runs() -> None:
    core = client.CoreV1Api()
    utils.create_from_dict(client.ApiClient(), CLAIM, namespace=NAMESPACE)
    utils.create_from_dict(client.ApiClient(), POD, namespace=NAMESPACE)
    pod = wait(
        "pod runs",
        core.list_namespaced_pod,
        lambda pod: pod.metadata.name == "user" and pod.status.phase == "Running",
    )
    assert pod.spec.node_name, pod
    claim = core.read_namespaced_persistent_volume_claim_status("data", NAMESPACE)
    assert claim.status.phase == "Bound", claim.status
    volume = core.read_persistent_volume(claim.spec.volume_name)
    assert volume.spec.claim_ref.uid == claim.metadata.uid
    error = refused(400, core.read_namespaced_pod_log, "user", NAMESPACE)
    assert "container" in error.body, error.body
    core.delete_namespaced_pod("user", NAMESPACE)
    core.delete_namespaced_persistent_volume_claim("data", NAMESPACE)


def story_a_deployment_is_scaled_and_a_pod_evicted() -> None:
    apps, core = client.AppsV1Api(), client.CoreV1Api()
    apps.create_namespaced_deployment(NAMESPACE, DEPLOYMENT)

    def has_ready(number: int) -> Callable[[Any], bool]:
        return lambda found: found.status.ready_replicas == number

    wait("two replicas", apps.list_namespaced_deployment, has_ready(2))
    apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 3}})
    wait("three replicas", apps.list_namespaced_deployment, has_ready(3))
    assert apps.read_namespaced_deployment_scale("web", NAMESPACE).spec.replicas == 3
    pods = core.list_namespaced_pod(NAMESPACE, label_selector="app=web")
    first = pods.items[0].metadata
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name=first.name))
    core.create_namespaced_pod_eviction(first.name, NAMESPACE, eviction)
    since = pods.metadata.resource_version
    told = events(core.list_namespaced_pod, namespace=NAMESPACE, resource_version=since)
    assert any(
        event["type"] == "DELETED" and event["object"].metadata.uid == first.uid for event in told
    ), "the evicted pod is still there"
    apps.delete_namespaced_deployment("web", NAMESPACE, propagation_policy="Foreground")


def story_custom_objects_have_status_and_rules() -> None:
    definitions = client.ApiextensionsV1Api()
    definitions.create_custom_resource_definition(DEFINITION)
    for event in events(definitions.list_custom_resource_definition):
        if _is_established(event["object"]):
            break
    where = (GROUP, VERSION, NAMESPACE, PLURAL)
    api = client.CustomObjectsApi()
    buoy = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Buoy", "metadata": {"name": "a"}}
    api.create_namespaced_custom_object(*where, buoy | {"spec": {"depth": 4}})
    lit = {"status": {"light": "on"}, "spec": {"depth": 9}}
    api.patch_namespaced_custom_object_status(*where, "a", lit)
    found = api.get_namespaced_custom_object(*where, "a")
    assert (found["spec"], found["status"]) == ({"depth": 4}, {"light": "on"}), found
    error = refused(422, api.patch_namespaced_custom_object, *where, "a", {"spec": {"depth": 0}})
    assert "spec.depth" in error.body, error.body
    [listed] = api.list_namespaced_custom_object(*where)["items"]
    assert listed["metadata"]["uid"] == found["metadata"]["uid"]


def _is_established(definition: Any) -> bool:
    if definition.metadata.name != DEFINITION_NAME:
        return False
    conditions = definition.status.conditions or []
    return any((each.type, each.status) == ("Established", "True") for each in conditions)


def story_the_dynamic_client_finds_and_applies() -> None:
    found = dynamic.DynamicClient(client.ApiClient())
    buoys = found.resources.get(api_version=f"{GROUP}/{VERSION}", kind="Buoy")
    assert buoys.get(name="a", namespace=NAMESPACE).spec.depth == 4
    maps = found.resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}}

    def apply(manager: str, sea: str) -> Any:
        return maps.server_side_apply(
            body=body | {"data": {"sea": sea}}, namespace=NAMESPACE, field_manager=manager
        )

    assert apply("pilot", "north").data.sea == "north"
    try:
        apply("mate", "south")
    except dynamic.exceptions.ConflictError as error:
        told = error.body
    else:
        raise AssertionError("a field of another manager was taken without force")
    assert "FieldManagerConflict" in told, told
    client.ApiextensionsV1Api().delete_custom_resource_definition(DEFINITION_NAME)


def story_a_service_account_may_do_what_its_role_says() -> None:
    core, roles = client.CoreV1Api(), client.RbacAuthorizationV1Api()
    core.create_namespaced_service_account(NAMESPACE, {"metadata": {"name": "pilot"}})
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}
    roles.create_namespaced_role(NAMESPACE, {"metadata": {"name": "reader"}, "rules": [rule]})
    binding = {
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "pilot", "namespace": NAMESPACE}],
    }
    roles.create_namespaced_role_binding(NAMESPACE, binding)
    token = core.create_namespaced_service_account_token("pilot", NAMESPACE, {"spec": {}})
    # A copy of the administrator's settings would take their token from the kubeconfig again.
    known, settings = client.Configuration.get_default_copy(), client.Configuration()
    settings.host, settings.ssl_ca_cert = known.host, known.ssl_ca_cert
    settings.api_key = {"authorization": f"Bearer {token.status.token}"}
    pilot = client.CoreV1Api(client.ApiClient(settings))
    assert pilot.list_namespaced_config_map(NAMESPACE).items
    error = refused(403, pilot.list_namespaced_secret, NAMESPACE)
    assert f"system:serviceaccount:{NAMESPACE}:pilot" in error.body, error.body
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "secrets"}}}
    own = client.AuthorizationV1Api(client.ApiClient(settings))
    assert not own.create_self_subject_access_review(review).status.allowed


STORIES = (
    story_discovery_and_version,
    story_every_kind_is_listed_and_understood,
    story_create_read_replace_patch_and_delete,
    story_lists_by_pages_and_selectors,
    story_a_watch_tells_every_change_from_a_version_on,
    story_a_pod_gets_its_claim_and_runs,
    story_a_deployment_is_scaled_and_a_pod_evicted,
    story_custom_objects_have_status_and_rules,
    story_the_dynamic_client_finds_and_applies,
    story_a_service_account_may_do_what_its_role_says,
)


def main(kubeconfig: str) -> None:
    config.load_kube_config(kubeconfig)
    core = client.CoreV1Api()
    core.create_namespace({"metadata": {"name": NAMESPACE}})
    for story in STORIES:
        print(story.__name__.removeprefix("story_").replace("_", " "), flush=True)
        story()
    core.delete_namespace(NAMESPACE)
    for event in events(core.list_namespace, field_selector=f"metadata.name={NAMESPACE}"):
        if event["type"] == "DELETED":
            print("the namespace is gone with all that was in it", flush=True)
            return
    raise AssertionError(f"namespace {NAMESPACE} is still there")


if __name__ == "__main__":
    main(sys.argv[1])
