"""Parts of a pod that have endpoints of their own: ephemeral containers, and its size."""

from typing import Any

from plimsoll.api.registry import Document
from plimsoll.wire.transport import Request
from tests.apiserver.api import Api

PODS = "/api/v1/namespaces/default/pods"
DEBUG = {"name": "debug", "image": "busybox", "targetContainerName": "c"}


async def a_pod(api: Api) -> Document:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    reply = await api.ask(
        "POST", PODS, {"metadata": {"name": "web"}, "spec": {"containers": containers}}
    )
    assert reply.status == 201
    pod: Document = reply.document
    return pod


async def change(api: Api, part: str, spec: Any, **metadata: Any) -> Any:
    body = {"spec": spec} | ({"metadata": metadata} if metadata else {})
    return await api.ask("PATCH", f"{PODS}/web/{part}", body)


async def test_an_ephemeral_container_is_added_and_stays(api: Api) -> None:
    await a_pod(api)

    added = await change(api, "ephemeralcontainers", {"ephemeralContainers": [DEBUG]})

    assert added.status == 200
    assert added.document["metadata"]["generation"] == 2
    (container,) = added.document["spec"]["ephemeralContainers"]
    assert container["imagePullPolicy"] == "Always"
    shown = await api.ask("GET", f"{PODS}/web/ephemeralcontainers")
    assert shown.document == added.document

    gone = await change(api, "ephemeralcontainers", {"ephemeralContainers": []})
    other = await change(
        api, "ephemeralcontainers", {"ephemeralContainers": [DEBUG | {"image": "other"}]}
    )
    for refused, what in ((gone, "removed"), (other, "changed")):
        assert refused.status == 422
        assert f'"debug" may not be {what}' in refused.document["message"]


async def test_nothing_else_changes_with_ephemeral_containers(api: Api) -> None:
    pod = await a_pod(api)

    reply = await change(
        api,
        "ephemeralcontainers",
        {"nodeName": "n1", "ephemeralContainers": [DEBUG]},
        labels={"a": "b"},
    )

    assert "nodeName" not in reply.document["spec"]
    assert "labels" not in reply.document["metadata"]
    assert reply.document["status"] == pod["status"]


async def test_an_update_of_the_pod_itself_adds_no_ephemeral_container(api: Api) -> None:
    await a_pod(api)

    refused = await api.ask("PATCH", f"{PODS}/web", {"spec": {"ephemeralContainers": [DEBUG]}})

    assert refused.status == 422


async def test_a_resize_is_another_generation_owned_by_who_asked_for_it(api: Api) -> None:
    pod = await a_pod(api)
    (container,) = pod["spec"]["containers"]
    container["resources"]["requests"]["cpu"] = "2"

    reply = await api.ask("PUT", f"{PODS}/web/resize", pod, fieldManager="scaler")

    assert (reply.status, reply.document["metadata"]["generation"]) == (200, 2)
    owner = next(e for e in reply.document["metadata"]["managedFields"] if e["manager"] == "scaler")
    assert owner["subresource"] == "resize"


async def test_both_parts_can_be_applied(api: Api) -> None:
    await a_pod(api)
    applied = (
        b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": '
        b'[{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}}'
    )
    response = await api.transport.request(
        Request(
            method="PATCH",
            path=f"{PODS}/web/resize",
            query=(("fieldManager", "scaler"), ("force", "true")),
            headers={"content-type": "application/apply-patch+yaml"},
            body=applied,
        )
    )

    assert response.status == 200
    pod = (await api.ask("GET", f"{PODS}/web")).document
    assert pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "3"
