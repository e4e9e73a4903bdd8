"""Services and what is listed behind them."""

from datetime import timedelta

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.refusing_transport import asked
from plimsoll.simulator.stories.workload_objects import LABELS, deployment
from plimsoll.wire.transport import Request


def service(**spec: object) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": LABELS, "ports": [{"port": 80}], **spec},
    }


async def listed(cluster: StoryCluster) -> list[tuple[str, bool]]:
    """Of the service's slices: names of pods, and whether they are ready."""
    slices: list[Document] = await cluster.all("EndpointSlice")
    return sorted(
        (endpoint["targetRef"]["name"], endpoint["conditions"]["ready"])
        for each in slices
        for endpoint in each.get("endpoints") or ()
    )


async def give_addresses(cluster: StoryCluster) -> list[str]:
    names = await cluster.names("Pod")
    for number, name in enumerate(names, start=1):
        address = {"podIP": f"10.1.0.{number}", "podIPs": [{"ip": f"10.1.0.{number}"}]}
        await cluster.patch("Pod", name, {"status": address}, subresource="status")
    await cluster.settle()
    return names


async def test_a_service_has_a_list_from_the_start_which_follows_its_pods() -> None:
    async with a_cluster("endpoints", "deployment", "replicaset") as cluster:
        await cluster.create(service())
        await cluster.settle()
        assert len(await cluster.all("EndpointSlice")) == 1
        assert (await cluster.get("Endpoints", "web")).get("subsets") is None

        await cluster.create(deployment(replicas=2))
        await cluster.run_pods()
        first, second = await give_addresses(cluster)
        assert await listed(cluster) == [(first, True), (second, True)]
        (subset,) = (await cluster.get("Endpoints", "web"))["subsets"]
        assert [a["ip"] for a in subset["addresses"]] == ["10.1.0.1", "10.1.0.2"]

        await cluster.mark_running(first, ready=False)
        await give_addresses(cluster)
        assert await listed(cluster) == [(first, False), (second, True)]
        (subset,) = (await cluster.get("Endpoints", "web"))["subsets"]
        assert [a["ip"] for a in subset["notReadyAddresses"]] == ["10.1.0.1"]


async def test_lists_go_with_their_service() -> None:
    async with a_cluster("endpoints", "garbage-collector") as cluster:
        await cluster.create(service())
        await cluster.settle()
        await cluster.delete("Service", "web")
        await cluster.wait(timedelta(minutes=1))
        assert await cluster.all("EndpointSlice") == []
        assert await cluster.find("Endpoints", "web") is None


async def test_lists_that_others_write_are_left_alone() -> None:
    async with a_cluster("endpoints") as cluster:
        own = {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": "web", "namespace": "default"},
            "subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}],
        }
        await cluster.create(own, service(selector={}))
        await cluster.settle()
        assert (await cluster.get("Endpoints", "web"))["subsets"] == [
            {"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80, "protocol": "TCP"}]}
        ]


async def test_a_quiet_service_is_left_alone() -> None:
    async with a_cluster("endpoints") as cluster:
        await cluster.create(service())
        await cluster.settle()
        writes = cluster.controllers[0].writes
        await cluster.wait(timedelta(hours=1))
        assert cluster.controllers[0].writes == writes


async def test_a_list_that_the_server_refuses_is_tried_ever_more_seldom() -> None:
    """Although the other list of the service is written each time."""
    refused: list[Request] = []

    def rule(request: Request) -> int:
        if asked(request) != ("create", "endpointslices"):
            return 0
        refused.append(request)
        return 403

    async with a_cluster() as cluster:
        await cluster.start("endpoints", rule=rule)
        await cluster.create(service())
        await cluster.wait(timedelta(minutes=10))
        assert await cluster.find("Endpoints", "web") is not None
        assert 10 < len(refused) < 20


async def test_a_controller_cut_off_at_any_write_makes_the_others_later() -> None:
    async def arrange(cluster: StoryCluster) -> None:
        await cluster.create(service())

    async def look(cluster: StoryCluster) -> list[str]:
        return [*await cluster.names("EndpointSlice"), *await cluster.names("Endpoints")]

    scenario = CrashScenario(loops=("endpoints",), arrange=arrange, look=look)
    assert len(await assert_same_end(scenario)) == 2
