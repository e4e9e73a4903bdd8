"""The whole life of claims, with a provisioner that dies after each single effect.

It is cut off right after its n-th write, or right after the driver made or deleted its n-th volume
and before it could be told, and another one is started. Whatever n is, the end must be the same:
nothing lost, no volume leaked, none made twice.
"""

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec

from plimsoll.decide.provisioning.intents import read_intent
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim
from plimsoll.simulator.stories.schedulers import SELECTED_NODE
from plimsoll.simulator.stories.sidecars import (
    PLAIN,
    ZONE,
    RunningProvisioner,
    StoryStorage,
    a_class,
    a_secret,
    a_storage,
    add_storage_nodes,
    published,
    zonal_pools,
)

LOOPS = ("binding", "claim-protection", "volume-protection")
ENOUGH = timedelta(minutes=3)
LONGEST = 60
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SECRET = "open sesame"  # noqa: S105 - to be looked for
SETTINGS = msgspec.structs.replace(PLAIN, enable_capacity=True)
SECRET_OF_CLASS = {
    "csi.storage.k8s.io/provisioner-secret-name": "access",
    "csi.storage.k8s.io/provisioner-secret-namespace": "default",
}
ONLY_A = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]


@dataclass(frozen=True, kw_only=True)
class Cut:
    """After how many writes, or after how many effects of calls; None: never for this cause."""

    writes: int | None = None
    effects: int | None = None


@dataclass
class Life:
    cluster: StoryCluster
    storage: StoryStorage
    cut: Cut
    effects: int = 0
    lives: int = 0
    current: RunningProvisioner | None = None
    first_writes: int = 0

    async def start(self) -> RunningProvisioner:
        self.lives += 1
        cut_after = self.cut.writes if self.lives == 1 else None
        provisioner = RunningProvisioner(
            self.cluster, self.storage, SETTINGS, seed=self.lives, cut_after=cut_after
        )
        self.current = provisioner
        await provisioner.start()
        return provisioner

    def on_effect(self, _call: str) -> None:
        self.effects += 1
        if self.effects == self.cut.effects and self.current is not None:
            self.current.cut_off()

    async def restart_if_dead(self) -> None:
        assert self.current is not None
        if not self.current.is_cut_off:
            return
        await self.current.kill()
        await self.start()
        await self.cluster.wait(ENOUGH)

    async def live(self) -> Any:
        await arrange(self.cluster)
        self.storage.on_effect = self.on_effect
        first = await self.start()
        await self.cluster.wait(ENOUGH)
        await self.restart_if_dead()
        middle = await look(self.cluster, self.storage)
        for name in ("plain", "kept"):
            await self.cluster.delete("PersistentVolumeClaim", name)
        await self.cluster.wait(ENOUGH)
        await self.restart_if_dead()
        assert self.current is not None
        self.current.check()
        self.first_writes = first.writes
        return middle, await look(self.cluster, self.storage)


@asynccontextmanager
async def a_life(cut: Cut) -> AsyncIterator[Life]:
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        storage = await stack.enter_async_context(
            a_storage(cluster.clock, zonal_pools("10Gi", "10Gi"))
        )
        life = Life(cluster, storage, cut)
        try:
            yield life
        finally:
            if life.current is not None:
                await life.current.kill()


async def arrange(cluster: StoryCluster) -> None:
    await add_storage_nodes(cluster, {"node-a": {"zone": "a"}, "node-b": {"zone": "b"}})
    await cluster.create(
        a_secret(password=SECRET),
        a_class("now", waits=False, parameters=SECRET_OF_CLASS),
        a_class("kept", waits=False, reclaimPolicy="Retain"),
        a_class("late"),
        a_class("stray", waits=False, parameters={"domains": "2"}, allowedTopologies=ONLY_A),
        claim("plain", class_name="now"),
        claim("kept", class_name="kept"),
        claim("placed", class_name="late", annotations={SELECTED_NODE: "node-b"}),
        claim("stray", class_name="stray"),
    )


async def look(cluster: StoryCluster, storage: StoryStorage) -> Any:
    claims = await cluster.all("PersistentVolumeClaim")
    volumes = await cluster.all("PersistentVolume")
    leases = await cluster.all("Lease")
    told = f"{claims}{volumes}{leases}{await cluster.all('Event')}"
    by_uid = {each["metadata"]["uid"]: each["metadata"]["name"] for each in claims}
    handles = {each["spec"]["csi"]["volumeHandle"] for each in volumes}
    return {
        "claims": [(each["metadata"]["name"], each["status"]["phase"]) for each in claims],
        "volumes": sorted(
            (
                each["status"]["phase"],
                by_uid.get(each["spec"]["claimRef"]["uid"], ""),
                sorted(each["metadata"]["finalizers"]),
            )
            for each in volumes
        ),
        "leaked": sorted(set(storage.ids) - handles),
        "lost": sorted(handles - set(storage.ids)),
        "being settled": [
            intent.state for lease in leases if (intent := read_intent(lease)) is not None
        ],
        "published": sorted((await published(cluster)).items()),
        "told secrets": SECRET in told,
    }


async def undisturbed() -> tuple[Any, int, int]:
    async with a_life(Cut()) as life:
        end = await life.live()
        middle, last = end
        assert [phase for _, phase in middle["claims"]] == ["Bound"] * 3 + ["Pending"]
        assert last["being settled"] == ["Undone"], "of the volume that strayed"
        assert middle["leaked"] == middle["lost"] == last["leaked"] == last["lost"] == []
        assert last["claims"] == [("placed", "Bound"), ("stray", "Pending")]
        assert [phase for phase, _, _ in last["volumes"]] == ["Bound", "Released"]
        assert not last["told secrets"]
        assert life.first_writes <= LONGEST
        return end, life.first_writes, life.effects


async def test_cut_off_after_any_write_the_end_is_the_same() -> None:
    end, writes, _ = await undisturbed()
    for number in range(1, writes + 1):
        async with a_life(Cut(writes=number)) as life:
            assert await life.live() == end, f"cut off after write {number} of {writes}"


async def test_cut_off_after_any_effect_of_a_call_the_end_is_the_same() -> None:
    end, _, effects = await undisturbed()
    assert effects >= 4
    for number in range(1, effects + 1):
        async with a_life(Cut(effects=number)) as life:
            assert await life.live() == end, f"cut off after effect {number} of {effects}"
            assert life.lives == 2
