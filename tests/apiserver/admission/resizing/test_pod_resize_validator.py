from typing import Any

import pytest

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from tests.apiserver.api import Api, Reply

TOO_LITTLE = "node didn't have enough allocatable resources"
PODS = "/api/v1/namespaces/default/pods"


async def a_node(api: Api, **labels: str) -> None:
    body = {"metadata": {"name": "n1", "labels": labels}}
    await api.ask("POST", "/api/v1/nodes", body)
    allocatable = {"status": {"allocatable": {"cpu": "2", "memory": "4Gi"}}}
    await api.ask("PATCH", "/api/v1/nodes/n1/status", allocatable)


async def resized(api: Api, cpu: str) -> Reply:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    spec = {"nodeName": "n1", "containers": containers}
    pod: Document = (
        await api.ask("POST", PODS, {"metadata": {"name": "a"}, "spec": spec})
    ).document
    wanted: Any = clone(pod)
    wanted["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    return await api.ask("PUT", f"{PODS}/a/resize", wanted)


async def test_a_pod_grows_to_what_its_node_has(api: Api) -> None:
    await a_node(api)

    assert (await resized(api, "2")).status == 200


@pytest.mark.parametrize(
    ("labels", "cpu", "refusal"),
    [
        pytest.param(
            {},
            "3",
            (
                "NodeCapacity",
                f"{TOO_LITTLE}: cpu, requested: 3000, allocatable: 2000",
            ),
            id="more-than-there-is",
        ),
        pytest.param(
            {"kubernetes.io/os": "windows"},
            "2",
            (
                "UnsupportedPlatform",
                'pod resize is only supported on linux nodes, node "n1" is "windows"',
            ),
            id="another-system",
        ),
    ],
)
async def test_a_pod_does_not_grow_beyond_its_node(
    api: Api, labels: dict[str, str], cpu: str, refusal: tuple[str, str]
) -> None:
    cause, said = refusal
    await a_node(api, **labels)

    refused = await resized(api, cpu)

    assert (refused.status, refused.document["details"]["causes"]) == (403, [{"reason": cause}])
    assert refused.document["message"] == f'pods "a" is forbidden: {said}'


async def test_a_node_that_is_not_there_has_nothing(api: Api) -> None:
    refused = await resized(api, "2")

    assert (refused.status, 'node "n1" not found' in refused.document["message"]) == (403, True)
