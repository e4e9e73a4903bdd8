"""A provisioner inside the controller that does not answer holds up nothing but its own assets.

Its late answer counts; what is not wanted any more is deleted when the call has ended.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from plimsoll.processes.controller.in_process.provisioners.protocol import (
    DeleteRequest,
    MadeVolume,
    ProvisionRequest,
)
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim
from plimsoll.simulator.stories.provisioners import a_class, binding
from plimsoll.simulator.stories.schedulers import node_of, volume_of
from tests.stories.test_groups import ENOUGH, FREE, FULL
from tests.stories.test_in_process_groups import ZonalShelf, a_scene, two_claims
from tests.stories.test_in_process_intents import NAME, PROTECTION, Shelf, is_bound, states

OTHER = "other.example.com"
MANY = 40
MINUTE = timedelta(minutes=1)


@dataclass
class HungShelf(ZonalShelf):
    """Calls for some assets do not end before the door is opened."""

    hangs: Callable[[str], bool] = lambda _: True
    hangs_in_deletions: bool = False
    is_made_first: bool = False
    """Whether the asset is there before the call hangs."""
    door: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[str] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    overlaps: list[str] = field(default_factory=list)
    """Assets for which two calls ran at the same time."""

    async def provision(self, request: ProvisionRequest) -> MadeVolume:
        self._enter(request.volume_name)
        made = await super().provision(request) if self.is_made_first else None
        if self.hangs(request.volume_name):
            await self.door.wait()
        made = made or await super().provision(request)
        self.running.discard(request.volume_name)
        return made

    async def delete(self, request: DeleteRequest) -> None:
        self._enter(request.volume_name)
        if self.hangs_in_deletions:
            await self.door.wait()
        await super().delete(request)
        self.running.discard(request.volume_name)

    def _enter(self, asset: str) -> None:
        self.asked.append(asset)
        if asset in self.running:
            self.overlaps.append(asset)
        self.running.add(asset)


async def start(cluster: StoryCluster, *shelves: Shelf) -> None:
    await cluster.start(*PROTECTION, more=binding(*shelves))


async def test_other_provisioners_are_not_held_up() -> None:
    hung, other = HungShelf(), Shelf(name=OTHER)
    async with a_cluster() as cluster:
        names = [f"hung-{number}" for number in range(MANY)]
        await cluster.create(a_class(NAME), a_class(OTHER, "other"))
        await start(cluster, hung, other)
        await cluster.create(*map(claim, names))
        await cluster.wait(timedelta(seconds=5))
        await cluster.create(claim("data", class_name="other"))
        await cluster.wait(timedelta(seconds=2))
        assert await is_bound(cluster), "at once, although the first calls still have time"
        await cluster.wait(timedelta(minutes=5))
        assert len(hung.running) <= 2 * 16
        hung.door.set()
        await cluster.wait(timedelta(minutes=5))
        for name in names:
            assert await is_bound(cluster, name)
        assert (len(hung.made), len(hung.assets)) == (MANY, MANY)
        assert (hung.overlaps, await states(cluster)) == ([], [])


async def test_the_claim_is_told_which_provisioner_has_not_answered() -> None:
    async with a_cluster() as cluster:
        await cluster.create(a_class(NAME), claim())
        await start(cluster, HungShelf())
        await cluster.wait(MINUTE)
        told = dict(await cluster.events("data"))["ProvisioningFailed"]
        assert f"provisioner {NAME} has not answered a call for pvc-" in told
        assert await states(cluster) == ["Calling"]


@pytest.mark.parametrize("is_made_first", [False, True], ids=["nothing-yet", "made"])
async def test_a_late_answer_is_recorded(*, is_made_first: bool) -> None:
    hung = HungShelf(is_made_first=is_made_first)
    async with a_cluster() as cluster:
        await cluster.create(a_class(NAME), claim())
        await start(cluster, hung)
        await cluster.wait(timedelta(minutes=5))
        hung.door.set()
        await cluster.wait(timedelta(minutes=5))
        assert await is_bound(cluster)
        assert len(hung.asked) == 1, "the call that was late is the one that counts"
        assert list(hung.assets) == await cluster.names("PersistentVolume")
        assert (hung.deleted, await states(cluster)) == ([], [])


@pytest.mark.parametrize("is_made_first", [False, True], ids=["nothing-yet", "made"])
async def test_what_is_not_wanted_any_more_is_deleted_after_the_call_has_ended(
    *, is_made_first: bool
) -> None:
    hung = HungShelf(is_made_first=is_made_first)
    async with a_cluster() as cluster:
        await cluster.create(a_class(NAME), claim())
        await start(cluster, hung)
        await cluster.wait(MINUTE)
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(timedelta(minutes=5))
        assert (hung.deleted, await states(cluster)) == ([], ["Undoing"])
        hung.door.set()
        await cluster.wait(timedelta(minutes=5))
        assert (hung.assets, await states(cluster)) == ({}, [])
        assert len(hung.deleted) == 1
        assert hung.overlaps == []


async def test_a_deletion_that_hangs_is_told_and_done_once() -> None:
    hung = HungShelf(hangs=lambda _: False)
    async with a_cluster() as cluster:
        await cluster.create(a_class(NAME), claim())
        await start(cluster, hung)
        await cluster.wait(MINUTE)
        [name] = await cluster.names("PersistentVolume")
        hung.hangs_in_deletions = True
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(MINUTE)
        told = dict(await cluster.events(name))["VolumeFailedDelete"]
        assert f"provisioner {NAME} has not answered a call for {name}" in told
        hung.door.set()
        await cluster.wait(timedelta(minutes=5))
        assert hung.deleted == [name]
        assert hung.asked.count(name) == 2, "made and deleted"
        assert await cluster.names("PersistentVolume") == []


async def test_a_pod_with_several_claims_goes_to_another_node_while_a_call_hangs() -> None:
    """The driver refuses the first node; the asset there is made too late, and deleted then."""
    hung = HungShelf(hangs=lambda asset: asset.count("-") == 5)
    async with a_scene(outer=(FULL, FREE), shelf=hung) as scene:
        await two_claims(scene)
        await scene.cluster.wait(timedelta(minutes=6))
        assert await node_of(scene.cluster, "web") == "node-b"
        name = await volume_of(scene.cluster, "inner")
        assert hung.assets == {f"{name}-1": "b"}
        assert await scene.inner_states() == [(0, "Undoing")]
        hung.door.set()
        await scene.cluster.wait(ENOUGH)
        assert await scene.has_both_on("node-b")
        assert (hung.deleted, hung.overlaps) == ([name], [])


async def test_the_next_controller_settles_what_hung_in_the_one_before() -> None:
    hung = HungShelf(is_made_first=True)
    async with a_cluster() as cluster:
        await cluster.create(a_class(NAME), claim())
        await start(cluster, hung)
        await cluster.wait(MINUTE)
        await cluster.kill_controllers()
        hung.running.clear()
        await cluster.delete("PersistentVolumeClaim", "data")
        await start(cluster, hung)
        await cluster.wait(timedelta(minutes=5))
        assert (hung.assets, await states(cluster)) == ({}, [])
