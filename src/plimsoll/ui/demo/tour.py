"""The tour: everything it tells was asked of the running cluster, or read from a real volume."""

import asyncio
import os
import signal
from hashlib import sha256
from pathlib import Path

from plimsoll.api.meta import ObjectKey
from plimsoll.api.snapshots import VolumeSnapshot
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.api.workloads import StatefulSet
from plimsoll.ui.demo.objects import (
    NAMESPACE,
    claim,
    database,
    namespace,
    of_claim,
    of_snapshot,
    pod,
    snapshot,
)
from plimsoll.ui.demo.stage import CLAIMS, PODS, DemoFailedError, DemoStage, Say
from plimsoll.ui.demo.together import PODS_TOGETHER, TogetherScene
from plimsoll.ui.local_cluster.layout import ZONES
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import typed
from plimsoll.wire.parameters import Selection, merge_patch

PODS_OF_DB = ("db-0", "db-1", "db-2")
SNAPSHOTS, VOLUMES = typed(VolumeSnapshot), typed(PersistentVolume)


class Tour:
    def __init__(self, stage: DemoStage, say: Say) -> None:
        self._stage = stage
        self._say = say
        self._free: dict[str, str] = {}

    async def run(self) -> None:
        """Raises DemoFailedError and KubeError."""
        await self._show_capacity()
        await self._place_a_database()
        text = await self._write()
        await self._snapshot_and_clone(text)
        await self._grow()
        await TogetherScene(self._stage, self._say).play()
        await self._refuse()
        await self._survive(text)

    async def _show_capacity(self) -> None:
        names = self._stage.cluster.wanted.names
        self._free = await self._stage.until_capacity("local", lambda free: set(free) == set(names))
        self._say("2. The nodes have registered their drivers, and room is published:")
        for node, free in self._free.items():
            self._say(f"     {node}   class local {free:>6}")
        pools = await self._stage.until_capacity("zonal", lambda free: len(free) == len(ZONES))
        self._say("     " + "   ".join(f"zone {zone} {free}" for zone, free in pools.items()))

    async def _place_a_database(self) -> None:
        await self._stage.create(namespace(), database())
        self._say("3. A StatefulSet: each claim waits for its pod's node, then its volume is made.")
        nodes: set[str] = set()
        for name in PODS_OF_DB:
            found = await self._stage.running(name)
            nodes.add(found.spec.node_name)
            claimed = await self._stage.client.get(CLAIMS, ObjectKey(NAMESPACE, f"data-{name}"))
            volume = claimed.spec.volume_name
            self._say(f"     {name} is Running on {found.spec.node_name} with {volume}")
        left = await self._stage.until_capacity(
            "local", lambda free: all(free.get(node) != self._free[node] for node in nodes)
        )
        used = [f"{node} {left[node]}" for node in sorted(nodes)]
        self._say(f"   Room is down at once: {', '.join(used)}.")

    async def _write(self) -> str:
        directory = await self._stage.directory(await self._stage.running("db-0"))
        text = "rates: 1\n" * 1000
        await asyncio.to_thread((directory / "data").write_text, text)
        self._say(f"4. Volumes are real; this one is a {await _kind(directory)}:")
        self._say(f"     {directory.relative_to(self._stage.cluster.wanted.data_dir)}/data")
        self._say(f"     sha256 {_digest(text)}")
        return text

    async def _snapshot_and_clone(self, text: str) -> None:
        stage = self._stage
        await stage.create(snapshot("monday", "data-db-0"))
        await stage.until(SNAPSHOTS, "monday", lambda found: found.is_ready)
        await stage.create(
            claim("restored", "64Mi", source=of_snapshot("monday")), pod("restored", "restored")
        )
        await stage.create(
            claim("cloned", "64Mi", source=of_claim("data-db-0")), pod("cloned", "cloned")
        )
        self._say("5. A snapshot, a volume restored from it, and a clone hold the same:")
        for name in ("restored", "cloned"):
            found = await stage.running(name)
            copy = await asyncio.to_thread(((await stage.directory(found)) / "data").read_text)
            if copy != text:
                raise DemoFailedError(f"the {name} volume holds something else")
            self._say(f"     {name:8} on {found.spec.node_name}  sha256 {_digest(copy)}")

    async def _grow(self) -> None:
        """At the next start of its pod: not every machine lets file systems grow in use."""
        stage, key = self._stage, ObjectKey(NAMESPACE, "data-db-0")
        pod = await stage.running("db-0")
        before = await asyncio.to_thread(_size, await stage.directory(pod))
        wanted = {"spec": {"resources": {"requests": {"storage": "128Mi"}}}}
        await stage.client.patch(CLAIMS, key, merge_patch(wanted))
        await stage.until(VOLUMES, await self._volume_of(key), lambda found: _holds(found, "128Mi"))
        await stage.client.delete(PODS, pod.key)
        again = await stage.running("db-0", but_not=pod.uid)
        await stage.until(CLAIMS, "data-db-0", lambda found: _is_grown(found, "128Mi"))
        after = await asyncio.to_thread(_size, await stage.directory(again))
        told = f": {before} MiB of file system before, {after} now" if after > before else ""
        self._say(f"6. The claim of db-0 was grown from 64Mi to 128Mi{told}.")

    async def _volume_of(self, claim: ObjectKey) -> str:
        return (await self._stage.client.get(CLAIMS, claim)).spec.volume_name

    async def _refuse(self) -> None:
        wrong = claim("wrong", "-5Gi")
        wrong["spec"]["accessModes"] = ["ReadSometimes"]
        try:
            await self._stage.create(wrong)
        except KubeError as refusal:
            self._say("8. Bad input is refused with its reasons, and changes nothing:")
            for cause in refusal.causes:
                self._say(f"     {cause['field']}: {cause['message']}")
        else:
            raise DemoFailedError("a claim of -5Gi was accepted")

    async def _survive(self, text: str) -> None:
        """kill -9 for the server and a driver: both come back, and nothing is lost."""
        children = self._stage.cluster.children
        for name in ("apiserver", "driver local.plimsoll.dev"):
            victim = children[name]
            if victim.pid is not None:
                os.kill(victim.pid, signal.SIGKILL)
            await victim.restarted()
        directory = await self._stage.directory(await self._stage.running("db-0"))
        if await asyncio.to_thread((directory / "data").read_text) != text:
            raise DemoFailedError("the data of db-0 changed")
        self._say("9. Killed the API server and the driver: both are back, the data is the same.")

    async def clean_up(self) -> None:
        """Everything is deleted, and its capacity is free again."""
        stage = self._stage
        await stage.client.delete(typed(StatefulSet), ObjectKey(NAMESPACE, "db"))
        single = ("restored", "cloned", *PODS_TOGETHER)
        for name in single:
            await stage.client.delete(PODS, ObjectKey(NAMESPACE, name))
        await stage.client.delete(SNAPSHOTS, ObjectKey(NAMESPACE, "monday"))
        for name in (*PODS_OF_DB, *single):
            await stage.until_gone(PODS, name)
        claims = await stage.client.list(CLAIMS, Selection(namespace=NAMESPACE))
        for found in claims.items:
            await stage.client.delete(CLAIMS, found.key)
        volumes = [found.spec.volume_name for found in claims.items if found.spec.volume_name]
        for name in volumes:
            await stage.until_gone(VOLUMES, name)
        back = await stage.until_capacity("local", lambda free: free == self._free)
        told = ", ".join(f"{node} {free}" for node, free in back.items())
        self._say(f"11. Deleted: volumes and snapshot are gone, and the room is back: {told}.")


def _holds(volume: PersistentVolume, size: str) -> bool:
    return volume.spec.capacity.get("storage") == size


def _is_grown(claim_: PersistentVolumeClaim, size: str) -> bool:
    return claim_.status.capacity.get("storage") == size


async def _kind(directory: Path) -> str:
    is_mounted = await asyncio.to_thread(os.path.ismount, directory)
    return "mounted file system" if is_mounted else "directory"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _size(directory: Path) -> int:
    found = os.statvfs(directory)
    return found.f_blocks * found.f_frsize // 1024**2
