"""Volumes with zone labels get the node affinity that the labels mean."""

from typing import Any

from plimsoll.api.registry import Document
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.crashes import CrashScenario, assert_same_end
from plimsoll.simulator.stories.objects import volume

OLD = {
    "failure-domain.beta.kubernetes.io/zone": "us-central1-a__us-central1-b",
    "failure-domain.beta.kubernetes.io/region": "us-central1",
}
LOOP = "zonal-upgrade"


def affinity(*expressions: tuple[str, list[str]]) -> Document:
    listed = [{"key": key, "operator": "In", "values": values} for key, values in expressions]
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": listed}]}}


EXPECTED = affinity(
    ("failure-domain.beta.kubernetes.io/zone", ["us-central1-a", "us-central1-b"]),
    ("failure-domain.beta.kubernetes.io/region", ["us-central1"]),
)


async def affinities(cluster: StoryCluster) -> dict[str, Any]:
    found = await cluster.all("PersistentVolume")
    return {v["metadata"]["name"]: v["spec"].get("nodeAffinity") for v in found}


async def test_existing_and_new_volumes_are_upgraded_and_keep_their_labels() -> None:
    async with a_cluster() as cluster:
        await cluster.create(volume("old", labels=OLD))
        await cluster.start(LOOP)
        await cluster.create(volume("new", labels={"topology.kubernetes.io/zone": "a"}))
        await cluster.create(volume("plain"))
        await cluster.settle()
        assert await affinities(cluster) == {
            "old": EXPECTED,
            "new": affinity(("topology.kubernetes.io/zone", ["a"])),
            "plain": None,
        }
        upgraded = await cluster.get("PersistentVolume", "old")
        assert upgraded["metadata"]["labels"] == OLD
        assert [reason for reason, _ in await cluster.events("old")] == ["ZonalAffinityAdded"]


async def test_labels_that_are_put_on_later_count_as_well() -> None:
    async with a_cluster(LOOP) as cluster:
        await cluster.create(volume())
        await cluster.settle()
        await cluster.patch("PersistentVolume", "volume-1", {"metadata": {"labels": OLD}})
        await cluster.settle()
        assert (await affinities(cluster))["volume-1"] == EXPECTED


async def test_an_affinity_that_the_server_does_not_let_change_is_reported_once() -> None:
    rack = affinity(("example.com/rack", ["1"]))
    async with a_cluster(LOOP) as cluster:
        await cluster.create(volume(affinity=rack, labels=OLD))
        await cluster.settle()
        writes = cluster.controllers[0].writes
        assert (await affinities(cluster))["volume-1"] == rack
        assert [reason for reason, _ in await cluster.events("volume-1")] == ["ZonalUpgradeRefused"]
        await cluster.patch("PersistentVolume", "volume-1", {"metadata": {"labels": {"x": "y"}}})
        await cluster.settle()
        assert cluster.controllers[0].writes == writes


async def test_a_controller_cut_off_at_any_write_upgrades_the_others_later() -> None:
    async def arrange(cluster: StoryCluster) -> None:
        await cluster.create(*(volume(f"volume-{n}", labels=OLD) for n in range(3)))

    end = await assert_same_end(CrashScenario(loops=(LOOP,), arrange=arrange, look=affinities))
    assert set(map(str, end.values())) == {str(EXPECTED)}
