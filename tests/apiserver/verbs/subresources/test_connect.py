"""Logs, exec and their like: refused with what there is instead."""

import pytest

from tests.apiserver.api import Api

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = [
    {"name": "data", "persistentVolumeClaim": {"claimName": "data-web"}},
    {"name": "scratch", "emptyDir": {}},
]


async def a_pod(api: Api, node: str = "n1") -> str:
    """Its uid."""
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": VOLUMES}
    if node:
        spec["nodeName"] = node
    reply = await api.ask("POST", PODS, {"metadata": {"name": "web"}, "spec": spec})
    uid: str = reply.document["metadata"]["uid"]
    return uid


@pytest.mark.parametrize(
    ("method", "subresource", "said"),
    [
        ("GET", "log", "has no logs"),
        ("GET", "exec", "has nothing to execute a command in"),
        ("POST", "exec", "has nothing to execute a command in"),
        ("POST", "attach", "has nothing to attach to"),
        ("POST", "portforward", "has no port to forward to"),
        ("PUT", "proxy/some/page", "has nothing to hand requests on to"),
    ],
)
async def test_a_pod_has_no_containers_but_volumes(
    api: Api, method: str, subresource: str, said: str
) -> None:
    uid = await a_pod(api)
    claim = {
        "metadata": {"name": "data-web"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": "pv-1",
        },
    }
    await api.ask("POST", CLAIMS, claim)

    reply = await api.ask(method, f"{PODS}/web/{subresource}")

    assert (reply.status, reply.document["reason"]) == (400, "BadRequest")
    assert reply.document["message"] == (
        f"no containers run here: pod default/web {said}; its volumes are in pods/{uid}, below "
        "the directory of node n1: data (volume pv-1 of claim data-web), scratch (emptyDir)"
    )


async def test_a_pod_without_a_node_has_an_empty_log(api: Api) -> None:
    await a_pod(api, node="")

    assert (await api.ask("GET", f"{PODS}/web/log")).status == 204
    reply = await api.ask("POST", f"{PODS}/web/exec")
    assert (reply.status, reply.document["message"]) == (
        400,
        "pod web does not have a host assigned",
    )


async def test_services_and_nodes_hand_nothing_on(api: Api) -> None:
    services = "/api/v1/namespaces/default/services"
    spec = {"ports": [{"port": 80}]}
    await api.ask("POST", services, {"metadata": {"name": "web"}, "spec": spec})

    reply = await api.ask("GET", f"{services}/web/proxy/index.html")

    assert reply.status == 400
    assert reply.document["message"].startswith("no containers run here: service web has nothing")


async def test_what_is_not_there_is_not_found(api: Api) -> None:
    assert (await api.ask("GET", f"{PODS}/web/log")).status == 404
