"""A claim in use outlives its own deletion."""

from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.objects import claim, pod, uses

FINALIZER = "kubernetes.io/pvc-protection"


async def test_a_claim_goes_with_the_last_pod_that_uses_it() -> None:
    async with a_cluster("claim-protection") as cluster:
        await cluster.add_node("node-1")
        await cluster.create(claim(), pod("a", volumes=[uses("data")], node="node-1"))
        await cluster.create(pod("b", volumes=[uses("data")], node="node-1"))
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.settle()
        assert await cluster.find("PersistentVolumeClaim", "data") is not None

        await cluster.delete("Pod", "a", grace=0)
        await cluster.settle()
        assert await cluster.find("PersistentVolumeClaim", "data") is not None

        await cluster.delete("Pod", "b", grace=0)
        await cluster.settle()
        assert await cluster.find("PersistentVolumeClaim", "data") is None


async def test_a_pod_that_waits_for_a_node_does_not_keep_its_claim() -> None:
    async with a_cluster("claim-protection") as cluster:
        await cluster.create(claim(), pod(volumes=[uses("data")]))
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.settle()
        assert await cluster.find("PersistentVolumeClaim", "data") is None


async def test_a_claim_made_again_after_its_deletion_is_protected_like_the_first() -> None:
    async with a_cluster("claim-protection") as cluster:
        for _ in range(2):
            await cluster.create(claim())
            await cluster.patch("PersistentVolumeClaim", "data", {"metadata": {"finalizers": None}})
            await cluster.settle()
            found = await cluster.get("PersistentVolumeClaim", "data")
            assert found["metadata"]["finalizers"] == [FINALIZER]
            await cluster.delete("PersistentVolumeClaim", "data")
            await cluster.settle()
            assert await cluster.find("PersistentVolumeClaim", "data") is None


async def test_nothing_is_written_for_claims_that_are_as_they_should_be() -> None:
    async with a_cluster() as cluster:
        await cluster.create(claim("a"), claim("b"))
        controller = await cluster.start("claim-protection")
        await cluster.settle()
        assert controller.writes == 0


async def test_a_controller_cut_off_at_any_write_leaves_nothing_behind() -> None:
    async def arrange(cluster: StoryCluster) -> None:
        await cluster.create(claim("used"), claim("unused"), claim("bare"))
        await cluster.patch("PersistentVolumeClaim", "bare", {"metadata": {"finalizers": None}})
        await cluster.create(pod(volumes=[uses("used")], node="node-1"))
        for name in ("used", "unused"):
            await cluster.delete("PersistentVolumeClaim", name)

    async def look(cluster: StoryCluster) -> dict[str, list[str]]:
        found = await cluster.all("PersistentVolumeClaim")
        return {c["metadata"]["name"]: c["metadata"]["finalizers"] for c in found}

    scenario = CrashScenario(loops=("claim-protection",), arrange=arrange, look=look)
    assert await assert_same_end(scenario) == {"used": [FINALIZER], "bare": [FINALIZER]}
