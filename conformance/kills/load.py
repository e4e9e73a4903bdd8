"""Users of a cluster who go on whatever dies: volumes are made, written, copied, grown and deleted.

A lane lives one life after the other. A life makes a volume, or a StatefulSet with two, takes them
through some steps in an order that chance picks, and then leaves them for the end or deletes them.
Some lives are hasty: they delete what they have just asked for.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from conformance.kills.client import EnduringClient
from conformance.kills.objects import stateful_set
from conformance.kills.volumes import CLAIMS, PODS, Files, KnownSnapshot, KnownVolume
from plimsoll.api.meta import ObjectKey
from plimsoll.api.quantity import parse_bytes
from plimsoll.api.snapshots import VolumeSnapshot
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.api.workloads import StatefulSet
from plimsoll.ui.demo.objects import NAMESPACE, claim, of_claim, of_snapshot, pod, snapshot
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import Kind, typed

SNAPSHOTS, VOLUMES, SETS = typed(VolumeSnapshot), typed(PersistentVolume), typed(StatefulSet)
LANES = 5
REPLICAS = 2
LONGEST_HASTE_SECONDS = 3.0
GROWTH_MEBIBYTES = 16
MOST_STEPS = 3


@dataclass(frozen=True, slots=True)
class ClassShare:
    """How often a class is used, how large its volumes are, how many stay until the end."""

    weight: int
    mebibytes: int
    kept: int


CLASSES = {
    "local": ClassShare(4, 32, 4),
    "zonal": ClassShare(3, 16, 3),
    "regional": ClassShare(2, 16, 3),
    "two-zones": ClassShare(2, 16, 2),
    "mirrored": ClassShare(1, 256, 1),
    "memory": ClassShare(2, 16, 2),
}


@dataclass(slots=True)
class Kept:
    """What must be there when everything has settled."""

    volumes: list[KnownVolume] = field(default_factory=list)
    snapshots: list[KnownSnapshot] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Load:
    client: EnduringClient
    files: Files
    chance: Random
    kept: Kept = field(default_factory=Kept)
    steps: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    doing: dict[str, str] = field(default_factory=dict)
    """What each life that goes on waits for."""

    async def run(self, seconds: float) -> None:
        """Begins no life after these seconds; returns when the last one has ended."""
        deadline = asyncio.get_running_loop().time() + seconds
        async with asyncio.TaskGroup() as lanes:
            for lane in range(LANES):
                lanes.create_task(self._lane(lane, deadline))

    async def _lane(self, lane: int, deadline: float) -> None:
        number = 0
        while asyncio.get_running_loop().time() < deadline:
            life = Life(self, f"v{lane}-{number}", Random(self.chance.random()))
            number += 1
            try:
                await life.run()
            except (AssertionError, KubeError, OSError) as error:
                self.problems.append(f"{life.name}: {type(error).__name__}: {error}")
            self.doing.pop(life.name, None)

    def has_place(self, class_: str) -> bool:
        """Whether one volume more of the class may stay."""
        return sum(each.class_ == class_ for each in self.kept.volumes) < CLASSES[class_].kept


class Life:
    def __init__(self, load: Load, name: str, chance: Random) -> None:
        self.name = name
        self._load = load
        self._client = load.client
        self._files = load.files
        self._chance = chance
        weights = [share.weight for share in CLASSES.values()]
        self._class = chance.choices(tuple(CLASSES), weights)[0]
        self._volumes: list[KnownVolume] = []
        """The first are those that the steps are about; copies come after them."""
        self._snapshots: list[KnownSnapshot] = []
        self._set = ""

    async def run(self) -> None:
        begin = self._chance.choices((self._hasty, self._single, self._set_of_two), (3, 5, 2))[0]
        await self._do(begin.__name__.strip("_").replace("_", " "), begin)
        if not self._volumes:
            return
        volume = self._volumes[0]
        choice: list[Step] = [self._snapshot, self._clone, self._grow, self._restart, self._write]
        for step in self._chance.sample(choice, self._chance.randint(1, MOST_STEPS)):
            await self._do(step.__name__.strip("_"), lambda step=step: step(volume))  # type: ignore[misc]
        for each in self._volumes:
            await self._do("check", lambda each=each: self._files.check(each))  # type: ignore[misc]
        if self._load.has_place(self._class):
            self._load.kept.volumes += self._volumes
            self._load.kept.snapshots += self._snapshots
        else:
            await self._do("delete", self._delete)

    async def _do(self, what: str, step: Callable[[], Awaitable[None]]) -> None:
        self._load.doing[self.name] = f"{what} ({self._class})"
        await step()
        self._load.steps[what] += 1

    async def _hasty(self) -> None:
        await self._create(self.name)
        await asyncio.sleep(self._chance.uniform(0, LONGEST_HASTE_SECONDS))
        await self._client.delete(PODS, _key(self.name))
        await self._client.delete(CLAIMS, _key(self.name))

    async def _single(self) -> None:
        await self._create(self.name)
        self._volumes = [self._known(self.name, self.name)]
        await self._files.write(self._volumes[0])

    async def _set_of_two(self) -> None:
        share = CLASSES[self._class]
        wanted = stateful_set(self.name, f"{share.mebibytes}Mi", self._class, REPLICAS)
        await self._client.create(wanted)
        self._set = self.name
        names = [f"{self.name}-{number}" for number in range(REPLICAS)]
        self._volumes = [self._known(f"data-{name}", name) for name in names]
        for volume in self._volumes:
            await self._files.write(volume)
            found = await self._client.until(CLAIMS, _key(volume.claim), lambda _: True)
            self._client.promised["PersistentVolumeClaim", found.key] = found.uid

    async def _snapshot(self, volume: KnownVolume) -> None:
        """And a volume restored from it."""
        name = f"{self.name}-s"
        known = KnownSnapshot(name, self._class, volume.size, dict(volume.contents))
        await self._client.create(snapshot(name, volume.claim))
        await self._client.until(SNAPSHOTS, _key(name), lambda found: found.is_ready)
        self._snapshots.append(known)
        await self._write(volume)
        await self._copy(f"{self.name}-r", known.contents, of_snapshot(name), volume)

    async def _clone(self, volume: KnownVolume) -> None:
        await self._copy(f"{self.name}-c", volume.contents, of_claim(volume.claim), volume)

    async def _copy(
        self, name: str, contents: dict[str, str], source: dict[str, str], origin: KnownVolume
    ) -> None:
        wanted = claim(name, origin.size, class_=self._class, source=source)
        await self._client.create(wanted)
        await self._client.create(pod(name, name))
        copy = self._known(name, name)
        copy.size_mebibytes, copy.contents = origin.size_mebibytes, dict(contents)
        self._volumes.append(copy)
        await self._files.check(copy)
        await self._files.write(copy)

    async def _grow(self, volume: KnownVolume) -> None:
        """At the next start of its pod: not every machine lets file systems grow in use."""
        volume.size_mebibytes += GROWTH_MEBIBYTES
        wanted = {"spec": {"resources": {"requests": {"storage": volume.size}}}}
        await self._client.patch(CLAIMS, _key(volume.claim), wanted)
        found = await self._client.until(CLAIMS, _key(volume.claim), lambda _: True)
        await self._client.until(
            VOLUMES, ObjectKey("", found.spec.volume_name), lambda each: _has(each, volume)
        )
        await self._restart(volume)
        await self._client.until(CLAIMS, _key(volume.claim), lambda each: _shows(each, volume))
        await self._files.check(volume)

    async def _restart(self, volume: KnownVolume) -> None:
        before = await self._files.running(volume.pod)
        await self._client.delete(PODS, before.key)
        await self._client.until_gone(PODS, before.key, before.uid)
        if volume.pod == volume.claim:  # of a StatefulSet, the controller makes it anew
            await self._client.create(pod(volume.pod, volume.claim))
        await self._files.running(volume.pod, but_not=before.uid)
        await self._files.check(volume)

    async def _write(self, volume: KnownVolume) -> None:
        await self._files.write(volume)

    async def _delete(self) -> None:
        """In any order that a user might choose; only a set is gone before its claims."""
        if self._set:
            await self._client.delete(SETS, _key(self._set))
        pods = [(PODS, _key(each.pod)) for each in self._volumes if each.pod == each.claim]
        gone = [(SNAPSHOTS, _key(each.name)) for each in self._snapshots]
        claims = [(CLAIMS, _key(each.claim)) for each in self._volumes if each.pod == each.claim]
        everything: list[tuple[Kind[Any], ObjectKey]] = [*pods, *gone, *claims]
        self._chance.shuffle(everything)
        for kind, key in everything:
            await self._client.delete(kind, key)
        for each in self._volumes:
            if each.pod != each.claim:
                await self._client.until_gone(PODS, _key(each.pod))
                await self._client.delete(CLAIMS, _key(each.claim))

    async def _create(self, name: str) -> None:
        await self._client.create(
            claim(name, f"{CLASSES[self._class].mebibytes}Mi", class_=self._class)
        )
        await self._client.create(pod(name, name))

    def _known(self, claim_name: str, pod_name: str) -> KnownVolume:
        return KnownVolume(claim_name, self._class, CLASSES[self._class].mebibytes, pod_name)


Step = Callable[[KnownVolume], Awaitable[None]]


def _key(name: str) -> ObjectKey:
    return ObjectKey(NAMESPACE, name)


def _has(volume: PersistentVolume, known: KnownVolume) -> bool:
    return parse_bytes(volume.spec.capacity.get("storage", "0")) >= parse_bytes(known.size)


def _shows(claim_: PersistentVolumeClaim, known: KnownVolume) -> bool:
    return parse_bytes(claim_.status.capacity.get("storage", "0")) >= parse_bytes(known.size)
