"""Real files in the volumes of pods, and the checksums that they must keep."""

import asyncio
import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from conformance.kills.client import EnduringClient
from conformance.kills.cluster import KilledCluster
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.runtime.files.mountinfo import read_mount_points
from plimsoll.ui.demo.objects import NAMESPACE
from plimsoll.wire.kind import typed

PODS, CLAIMS = typed(Pod), typed(PersistentVolumeClaim)
LARGEST_FILE = 1 << 20
MEBIBYTE = 1 << 20

Contents = dict[str, str]
"""The checksum of each file, by its name."""


@dataclass(slots=True)
class KnownVolume:
    """What must be readable through a claim."""

    claim: str
    class_: str
    size_mebibytes: int
    pod: str
    """Through which it is used."""
    contents: Contents = field(default_factory=dict)

    @property
    def size(self) -> str:
        return f"{self.size_mebibytes}Mi"


@dataclass(frozen=True, slots=True)
class KnownSnapshot:
    name: str
    class_: str
    size: str
    contents: Contents


class DataError(AssertionError):
    """Other data than was written."""


class Files:
    """Reads and writes through the mounts of a cluster's nodes."""

    def __init__(self, cluster: KilledCluster, client: EnduringClient, chance: Random) -> None:
        self._cluster = cluster
        self._client = client
        self._chance = chance
        self.written = 0
        self.compared = 0

    async def running(self, pod: str, *, but_not: str = "") -> Pod:
        """`but_not` is the uid of a pod that had this name before."""

        def seen(found: Pod) -> bool:
            assert found.status.phase != "Failed", f"pod {pod} failed: {found.status}"
            return found.status.phase == "Running" and found.uid != but_not

        return await self._client.until(PODS, ObjectKey(NAMESPACE, pod), seen)

    async def write(self, volume: KnownVolume) -> None:
        directory = await self._directory(volume)
        name = f"file-{len(volume.contents)}"
        content = self._chance.randbytes(self._chance.randint(1, LARGEST_FILE))
        await asyncio.to_thread(_write, directory / name, content)
        volume.contents[name] = hashlib.sha256(content).hexdigest()
        self.written += 1

    async def check(self, volume: KnownVolume) -> None:
        """Every file that was ever written, and no other. Raises DataError."""
        directory = await self._directory(volume)
        found = await asyncio.to_thread(_contents, directory)
        self.compared += len(volume.contents)
        if found != volume.contents:
            raise DataError(
                f"claim {volume.claim} ({volume.class_}): {directory} has {found}, written were "
                f"{volume.contents}"
            )

    async def _directory(self, volume: KnownVolume) -> Path:
        """Where the volume is mounted for its pod. Raises DataError if it is not."""
        pod = await self.running(volume.pod)
        key = ObjectKey(NAMESPACE, volume.claim)
        claim = await self._client.until(CLAIMS, key, lambda found: bool(found.spec.volume_name))
        volumes = self._cluster.directory / "nodes" / pod.spec.node_name / "pods" / pod.uid
        path = volumes / "volumes" / "kubernetes.io~csi" / claim.spec.volume_name / "mount"
        if str(path) not in await asyncio.to_thread(read_mount_points):
            raise DataError(f"pod {volume.pod} is Running, and nothing is mounted at {path}")
        return path


def _write(path: Path, content: bytes) -> None:
    """On disk when it returns, as a database would do."""
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _contents(directory: Path) -> Contents:
    found = {}
    for path in sorted(directory.glob("file-*")):
        found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
