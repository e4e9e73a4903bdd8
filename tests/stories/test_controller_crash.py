"""The whole life of claims, with a controller that dies after each single effect.

Claims are bound or provisioned for, then deleted, and their volumes reclaimed. The controller is
cut off right after its n-th write, or right after its n-th effect outside the API (a disk made or
deleted, before the answer arrived), and another one is started. Whatever n is, the end must be
the same: nothing lost, no disk leaked, none deleted twice.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.processes.controller.in_process.provisioners.simulated_cloud import (
    CloudDisk,
    SimulatedCloud,
)
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim, volume
from plimsoll.simulator.stories.provisioners import ZONAL, a_class, binding, zonal

PROTECTION = ("claim-protection", "volume-protection")
ENOUGH = timedelta(minutes=2)
LONGEST = 80
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CHANGING = ("uid", "resourceVersion", "creationTimestamp", "lastPhaseTransitionTime")


@dataclass(frozen=True)
class Cut:
    """After how many writes, or after how many effects outside; None: never for this cause."""

    writes: int | None = None
    effects: int | None = None


class CountingCloud(SimulatedCloud):
    """Tells of every disk that is really made or deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[str] = []
        self.deleted: list[str] = []
        self.on_effect: Callable[[], None] = lambda: None

    @property
    def effects(self) -> int:
        return len(self.made) + len(self.deleted)

    def create(self, wanted: CloudDisk) -> CloudDisk:
        is_new = wanted.name not in {disk.name for disk in self.disks}
        disk = super().create(wanted)
        if is_new:
            self.made.append(wanted.name)
            self.on_effect()
        return disk

    def delete(self, name: str) -> None:
        exists = name in {disk.name for disk in self.disks}
        super().delete(name)
        if exists:
            self.deleted.append(name)
            self.on_effect()


@dataclass
class Life:
    """One run of the scenario."""

    cut: Cut = Cut()
    user_waits: bool = True
    """Whether claims are deleted only once a controller is there again."""
    cloud: CountingCloud = field(default_factory=CountingCloud)
    writes: int = 0

    async def live(self) -> Any:
        async with a_cluster() as cluster:
            await arrange(cluster)
            await self._start_first(cluster)
            await cluster.wait(ENOUGH)
            if self.user_waits:
                await self._restart_if_dead(cluster)
            for name in ("static", "deleted", "retained"):
                await cluster.delete("PersistentVolumeClaim", name)
            await cluster.wait(ENOUGH)
            await self._restart_if_dead(cluster)
            self.writes = sum(controller.writes for controller in cluster.controllers)
            return await look(cluster, self.cloud)

    async def _start_first(self, cluster: StoryCluster) -> None:
        def on_effect() -> None:
            if self.cloud.effects == self.cut.effects:
                cluster.controllers[0].cut_off()

        self.cloud.on_effect = on_effect
        await cluster.start(*PROTECTION, more=binding(zonal(self.cloud)), cut_after=self.cut.writes)

    async def _restart_if_dead(self, cluster: StoryCluster) -> None:
        if not cluster.controllers[0].is_cut_off:
            return
        await cluster.kill_controllers()
        self.cloud.on_effect = lambda: None
        await cluster.start(*PROTECTION, more=binding(zonal(self.cloud)))
        await cluster.wait(ENOUGH)


async def arrange(cluster: StoryCluster) -> None:
    await cluster.add_node("node-1", **{"topology_kubernetes_io/zone": "europe-a"})
    await cluster.create(
        a_class(ZONAL, "disk"),
        a_class(ZONAL, "kept", reclaimPolicy="Retain"),
        volume("by-hand", spec={"persistentVolumeReclaimPolicy": "Retain"}),
        claim("static"),
        claim("deleted", class_name="disk"),
        claim("retained", class_name="kept"),
    )


async def look(cluster: StoryCluster, cloud: CountingCloud) -> Any:
    claims = await cluster.all("PersistentVolumeClaim")
    volumes = await cluster.all("PersistentVolume")
    return {
        "claims": [comparable(document) for document in claims],
        "volumes": [comparable(document) for document in volumes],
        "disks": [UID.sub("uid", disk.name) for disk in cloud.disks],
        "deleted": len(cloud.deleted),
        "deleted twice": len(cloud.deleted) - len(set(cloud.deleted)),
    }


def comparable(value: Any) -> Any:
    """Without what is different in every run."""
    match value:
        case dict():
            return {
                key: comparable(entry)
                for key, entry in value.items()
                if key not in (*CHANGING, "managedFields")
            }
        case list():
            return [comparable(entry) for entry in value]
        case str():
            return UID.sub("uid", value)
        case _:
            return value


async def undisturbed() -> tuple[Document, Life]:
    life = Life()
    end: Document = await life.live()
    assert end["claims"] == []
    assert [each["metadata"]["name"] for each in end["volumes"]] == ["by-hand", "pvc-uid"]
    assert end["disks"] == ["pvc-uid"]
    assert (end["deleted"], life.cloud.effects) == (1, 3)
    assert life.writes <= LONGEST
    return end, life


async def test_cut_off_after_any_write_the_end_is_the_same() -> None:
    end, life = await undisturbed()
    for writes in range(1, life.writes + 1):
        other = await Life(cut=Cut(writes=writes)).live()
        assert other == end, f"cut off after write {writes} of {life.writes}"


async def test_cut_off_after_any_effect_outside_the_end_is_the_same() -> None:
    end, life = await undisturbed()
    for effects in range(1, life.cloud.effects + 1):
        other = await Life(cut=Cut(effects=effects)).live()
        assert other == end, f"cut off after effect {effects}"


async def test_claims_deleted_while_no_controller_runs_leave_nothing_behind() -> None:
    """How far their volumes had come by then differs; what is left must be accounted for."""
    _, life = await undisturbed()
    cuts = [Cut(writes=number) for number in range(1, life.writes + 1)]
    cuts += [Cut(effects=number) for number in range(1, life.cloud.effects + 1)]
    for cut in cuts:
        end = await Life(cut=cut, user_waits=False).live()
        made = [each["metadata"]["name"] for each in end["volumes"]]
        assert end["claims"] == [], cut
        assert end["disks"] == [name for name in made if name != "by-hand"], cut
        assert end["deleted twice"] == 0, cut
