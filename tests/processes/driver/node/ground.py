"""A driver on real disks in the test's own event loop, and a node that uses its volumes.

Whatever a test leaves mounted or attached below its directory is taken away at the end.
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from google.protobuf.message import Message

from plimsoll.processes.driver.backends.local.backend import LocalBackend
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.main import handlers, running
from plimsoll.processes.driver.node.loop_devices import loops
from plimsoll.processes.driver.records import VolumeRecord
from plimsoll.processes.driver.settings import BackendSettings, Disk, Mounts, NodeSettings
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.files.mountinfo import read_mounts
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.csi.methods import Method
from tests.processes.driver.drivers import capability, create_request, expand_request

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

MIB = 1024**2
GIB = 1024**3
NODE = "alpha"
DRIVER = "local.plimsoll.dev"
WITHIN = timedelta(minutes=2)
TOOLS = ("losetup", "mkfs.ext4", "blkid", "mount")


def why_not_here(*tools: str) -> str:
    """Why no image can be mounted on this machine; empty: it can."""
    if os.geteuid() != 0:
        return "mounts and loop devices need root"
    missing = [tool for tool in (*TOOLS, *tools) if shutil.which(tool) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    return "" if Path("/dev/loop-control").exists() else "this kernel has no loop devices"


def needs_root_and(*tools: str) -> pytest.MarkDecorator:
    why = why_not_here(*tools)
    return pytest.mark.skipif(bool(why), reason=why or "everything is here")


needs_root = needs_root_and()
may_resize_ext4 = pytest.mark.skipif(
    not int(Path("/proc/self/status").read_text().partition("CapEff:")[2].split()[0], 16) >> 24 & 1,
    reason="growing ext4 while it is mounted needs CAP_SYS_RESOURCE",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A running driver, its client, and the paths a kubelet would choose."""

    driver: Driver
    client: CsiClient
    directory: Path
    messages: list[str] = field(default_factory=list)
    """What refusals said."""

    async def call(self, method: Method[Request, Response], request: Request) -> Response:
        return await self.client.call(method, request)

    async def refused(self, method: Method[Any, Any], request: Message) -> str:
        """The status that the call ended with."""
        with pytest.raises(DriverError) as refusal:
            await self.client.call(method, request)
        self.messages.append(refusal.value.detail)
        return refusal.value.code

    async def create(self, name: str = "data", **wanted: Any) -> str:
        answer = await self.call(m.CREATE_VOLUME, wanted_volume(name, **wanted))
        return answer.volume.volume_id

    async def cannot_create(self, name: str = "data", **wanted: Any) -> str:
        return await self.refused(m.CREATE_VOLUME, wanted_volume(name, **wanted))

    async def delete(self, volume_id: str) -> None:
        await self.call(m.DELETE_VOLUME, csi.DeleteVolumeRequest(volume_id=volume_id))

    async def take_snapshot(self, volume_id: str, name: str = "backup") -> str:
        request = csi.CreateSnapshotRequest(source_volume_id=volume_id, name=name)
        return (await self.call(m.CREATE_SNAPSHOT, request)).snapshot.snapshot_id

    async def delete_snapshot(self, snapshot_id: str) -> None:
        await self.call(m.DELETE_SNAPSHOT, csi.DeleteSnapshotRequest(snapshot_id=snapshot_id))

    async def expand(self, volume_id: str, mib: int) -> None:
        await self.call(m.CONTROLLER_EXPAND_VOLUME, expand_request(volume_id, mib))

    def staging(self, volume_id: str) -> Path:
        return self.directory / "kubelet" / "staging" / volume_id

    def target(self, volume_id: str, pod: str = "pod") -> Path:
        return self.directory / "kubelet" / pod / volume_id

    async def stage(self, volume_id: str, flags: Sequence[str] = (), **how: Any) -> Path:
        self.staging(volume_id).mkdir(parents=True, exist_ok=True)
        await self.call(m.NODE_STAGE_VOLUME, self.stage_request(volume_id, flags, **how))
        return self.staging(volume_id)

    def stage_request(
        self, volume_id: str, flags: Sequence[str] = (), **how: Any
    ) -> csi.NodeStageVolumeRequest:
        wanted = capability(**how)
        wanted.mount.mount_flags.extend(flags) if flags else None
        return csi.NodeStageVolumeRequest(
            volume_id=volume_id,
            staging_target_path=str(self.staging(volume_id)),
            volume_capability=wanted,
        )

    async def publish(self, volume_id: str, pod: str = "pod", **how: Any) -> Path:
        await self.call(m.NODE_PUBLISH_VOLUME, self.publish_request(volume_id, pod, **how))
        return self.target(volume_id, pod)

    def publish_request(
        self, volume_id: str, pod: str = "pod", *, read_only: bool = False, **how: Any
    ) -> csi.NodePublishVolumeRequest:
        target = self.target(volume_id, pod)
        target.parent.mkdir(parents=True, exist_ok=True)
        return csi.NodePublishVolumeRequest(
            volume_id=volume_id,
            staging_target_path=str(self.staging(volume_id)),
            target_path=str(target),
            volume_capability=capability(**how),
            readonly=read_only,
        )

    async def use(self, volume_id: str, **how: Any) -> Path:
        await self.stage(volume_id, **how)
        return await self.publish(volume_id, **how)

    async def unpublish(self, volume_id: str, pod: str = "pod") -> None:
        target = str(self.target(volume_id, pod))
        request = csi.NodeUnpublishVolumeRequest(volume_id=volume_id, target_path=target)
        await self.call(m.NODE_UNPUBLISH_VOLUME, request)

    async def unstage(self, volume_id: str) -> None:
        staging = str(self.staging(volume_id))
        request = csi.NodeUnstageVolumeRequest(volume_id=volume_id, staging_target_path=staging)
        await self.call(m.NODE_UNSTAGE_VOLUME, request)

    async def leave(self, volume_id: str) -> None:
        await self.unpublish(volume_id)
        await self.unstage(volume_id)

    async def stats(self, volume_id: str, path: Path) -> csi.NodeGetVolumeStatsResponse:
        request = csi.NodeGetVolumeStatsRequest(volume_id=volume_id, volume_path=str(path))
        return await self.call(m.NODE_GET_VOLUME_STATS, request)

    async def node_expand(self, volume_id: str) -> int:
        path = str(self.target(volume_id))
        request = csi.NodeExpandVolumeRequest(volume_id=volume_id, volume_path=path)
        return (await self.call(m.NODE_EXPAND_VOLUME, request)).capacity_bytes

    async def capacity(self, parameters: Mapping[str, str], **how: Any) -> csi.GetCapacityResponse:
        wanted = [capability(**how)]
        request = csi.GetCapacityRequest(parameters=parameters, volume_capabilities=wanted)
        return await self.call(m.GET_CAPACITY, request)

    def record(self, volume_id: str) -> VolumeRecord:
        found = self.driver.ledger.volumes.find(volume_id)
        assert found is not None
        return found

    def images(self, volume_id: str) -> list[Path]:
        return sorted(self.directory.glob(f"disk-*/volumes/{volume_id}.img"))

    async def until_detached(self) -> None:
        await until_none(self.devices)

    def devices(self) -> list[Path]:
        return [device for device, file in loops().items() if file.is_relative_to(self.directory)]


async def until_none(devices: Callable[[], list[Path]]) -> None:
    """The kernel ends a loop device that another program, or another device, has open when that one
    lets go of it: programs that look for file systems open all devices for a moment."""
    async with asyncio.timeout(10):
        while devices():  # noqa: ASYNC110 - the kernel tells no event
            await asyncio.sleep(0.05)


def wanted_volume(name: str, *, size_bytes: int = 0, **wanted: Any) -> csi.CreateVolumeRequest:
    request = create_request(name, **wanted)
    if size_bytes:
        request.capacity_range.required_bytes = size_bytes
    return request


@asynccontextmanager
async def a_local_driver(
    directory: Path,
    *,
    disks: int = 1,
    size_bytes: int | None = 2 * GIB,
    memory_bytes: int = 0,
    mounts: Mounts = Mounts.REAL,
) -> AsyncIterator[Ground]:
    """Can be started again and again on the same directory, as after a crash."""
    found = tuple(
        Disk(path=directory / f"disk-{n}", size_bytes=size_bytes, create=True) for n in range(disks)
    )
    topology = {f"topology.{DRIVER}/node": NODE}
    node = NodeSettings(id=NODE, topology=topology, disks=found, memory_bytes=memory_bytes)
    data_dir = directory / "data"
    settings = BackendSettings(driver_name=DRIVER, data_dir=data_dir, nodes=(node,), mounts=mounts)
    async with running("local", settings, Ledger(data_dir)) as driver:
        assert isinstance(driver.backend, LocalBackend)
        transport = InProcessCsi(handlers(driver, node, settings), SystemClock())
        yield Ground(driver=driver, client=CsiClient(transport, within=WITHIN), directory=directory)


@contextmanager
def swept(directory: Path) -> Iterator[Path]:
    """Nothing below the directory stays mounted or attached, whatever happens."""
    real = directory.resolve()
    try:
        yield real
    finally:
        for mount in reversed(read_mounts()):
            if mount.path.is_relative_to(real):
                subprocess.run(["umount", "--lazy", mount.path], check=False, timeout=30)
        for device, file in loops().items():
            if file.is_relative_to(real):
                subprocess.run(["losetup", "--detach", device], check=False, timeout=30)


@contextmanager
def a_file_system(image: Path, size_bytes: int, fs_type: str = "ext4") -> Iterator[Path]:
    """A disk of its own, mounted beside its image."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    subprocess.run([f"mkfs.{fs_type}", "-q", image], check=True, timeout=60)
    place = image.with_suffix("")
    place.mkdir()
    subprocess.run(["mount", "-o", "loop", image, place], check=True, timeout=60)
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True, timeout=60)


def left_mounted(directory: Path) -> list[str]:
    real = directory.resolve()
    return [str(mount.path) for mount in read_mounts() if mount.path.is_relative_to(real)]
