"""A bound volume outlives its own deletion."""

from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.objects import volume

FINALIZER = "kubernetes.io/pv-protection"


async def phase(cluster: StoryCluster, name: str, phase: str) -> None:
    patch = {"status": {"phase": phase}}
    await cluster.patch("PersistentVolume", name, patch, subresource="status")


async def test_a_bound_volume_goes_when_it_is_released() -> None:
    async with a_cluster("volume-protection") as cluster:
        await cluster.create(volume())
        await phase(cluster, "volume-1", "Bound")
        await cluster.delete("PersistentVolume", "volume-1")
        await cluster.settle()
        assert await cluster.find("PersistentVolume", "volume-1") is not None

        await phase(cluster, "volume-1", "Released")
        await cluster.settle()
        assert await cluster.find("PersistentVolume", "volume-1") is None


async def test_a_controller_cut_off_at_any_write_comes_to_the_same_end() -> None:
    async def arrange(cluster: StoryCluster) -> None:
        await cluster.create(volume("bound"), volume("free"), volume("bare"))
        await cluster.patch("PersistentVolume", "bare", {"metadata": {"finalizers": None}})
        await phase(cluster, "bound", "Bound")
        for name in ("bound", "free"):
            await cluster.delete("PersistentVolume", name)

    async def look(cluster: StoryCluster) -> dict[str, list[str]]:
        found = await cluster.all("PersistentVolume")
        return {v["metadata"]["name"]: v["metadata"]["finalizers"] for v in found}

    scenario = CrashScenario(loops=("volume-protection",), arrange=arrange, look=look)
    assert await assert_same_end(scenario) == {"bound": [FINALIZER], "bare": [FINALIZER]}
