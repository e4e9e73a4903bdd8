from plimsoll.api.patch.documents import clone
from tests.apiserver.api import Api, Reply

PODS = "/api/v1/namespaces/default/pods"
FEATURE = "InPlacePodVerticalScalingInitContainers"


async def resized(api: Api) -> Reply:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    spec = {
        "nodeName": "n1",
        "containers": containers,
        "initContainers": [{"name": "first", "image": "i"}],
    }
    made = await api.ask("POST", PODS, {"metadata": {"name": "a"}, "spec": spec})
    wanted = clone(made.document)
    wanted["spec"]["initContainers"][0]["resources"] = {"requests": {"cpu": "1"}}
    return await api.ask("PUT", f"{PODS}/a/resize", wanted)


async def a_node(api: Api, *features: str) -> None:
    await api.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}})
    status = {"allocatable": {"cpu": "2", "memory": "4Gi"}, "declaredFeatures": list(features)}
    await api.ask("PATCH", "/api/v1/nodes/n1/status", {"status": status})


async def test_a_node_that_does_not_say_that_it_can_is_not_asked_to(api: Api) -> None:
    await a_node(api)
    refused = await resized(api)
    assert (refused.status, refused.document["message"]) == (
        403,
        (
            f'pods "a" is forbidden: pod update requires features {FEATURE} which are not '
            'available on node "n1"'
        ),
    )


async def test_a_node_that_says_that_it_can_is_asked_to(api: Api) -> None:
    await a_node(api, FEATURE)
    assert (await resized(api)).status == 200
