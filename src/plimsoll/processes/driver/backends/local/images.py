"""Volumes that are files which look like disks: one, or several on different disks.

An image is as large on disk as the volume from its first moment, so its blocks are really taken. A
mirrored volume works on with one of its images; a snapshot is a set of images of its own, never
attached to anything. While a volume is copied, pods that write to it have to wait.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from pathlib import Path
from uuid import UUID

from plimsoll.processes.driver.backends.local import files
from plimsoll.processes.driver.backends.local.btrfs_identity import renew_identity
from plimsoll.processes.driver.backends.local.disk_space import DiskSpace
from plimsoll.processes.driver.backends.local.disks import IMAGE, SNAPSHOTS, VOLUMES, Disks
from plimsoll.processes.driver.backends.local.forms import (
    FORMAT_OPTIONS,
    LocalArrangement,
    LocalForm,
)
from plimsoll.processes.driver.backends.local.kinds import Recorded
from plimsoll.processes.driver.backends.local.settling import settle_device
from plimsoll.processes.driver.backends.protocol import DeviceSource, Source, VolumeHealth
from plimsoll.processes.driver.node import filesystems, loop_devices
from plimsoll.processes.driver.node.filesystems import MOUNT_OPTIONS, XFS
from plimsoll.processes.driver.node.mounting.device_mounts import file_systems_of
from plimsoll.processes.driver.node.mounting.real_mounts import unmount
from plimsoll.processes.driver.node.mounting.targets import entries, make_directory
from plimsoll.processes.driver.records import SnapshotRecord, VolumeMode, VolumeRecord
from plimsoll.runtime.commands import run
from plimsoll.runtime.files.mountinfo import read_mounts
from plimsoll.runtime.ids import Ids
from plimsoll.wire.csi.refusals import failed_precondition, internal, invalid_argument

WITHIN = timedelta(minutes=10)
DEGRADED = "degraded"


@dataclass(frozen=True, slots=True)
class ImageContext:
    data_dir: Path
    ids: Ids


class Images:
    def __init__(
        self,
        disks: Disks,
        space: DiskSpace,
        around: ImageContext,
        form_of: Callable[[Recorded], LocalForm],
    ) -> None:
        self._disks = disks
        self._space = space
        self._form_of = form_of
        self._copying = around.data_dir / "copying"
        self._ids = around.ids
        self._frozen: dict[str, asyncio.Lock] = {}

    async def make(self, volume: VolumeRecord, origin: Recorded | None) -> None:
        if origin is None:
            await self._reserve(volume)
        else:
            await self._copy(origin, volume)
            if volume.mode is VolumeMode.FILESYSTEM:
                # What is in a block volume is its user's, identities included.
                await self._renew(volume)
        self._finish(volume)

    async def _copy(self, origin: Recorded, copy: Recorded) -> None:
        sources, targets = self._images(origin), self._images(copy)
        if len(sources) != len(targets):
            raise invalid_argument(
                f"{copy.id}: {origin.id} has another layout; a copy has that of its origin"
            )
        if lost := _missing(sources):
            raise failed_precondition(
                f"{copy.id}: {lost[0]} of {origin.id} is gone; copy its files instead"
            )
        await self._reserve(copy)
        async with self._still(origin):
            for source, image in zip(sources, targets, strict=True):
                await files.copy_file(source, files.unfinished(image), origin.size_bytes)

    async def _reserve(self, record: Recorded) -> None:
        for image, size in self._sizes(record):
            self._space.promise(image, size)
            await files.reserve(files.unfinished(image), size)

    @asynccontextmanager
    async def _still(self, origin: Recorded) -> AsyncIterator[None]:
        """No pod writes to the images meanwhile, and all that was written is in them."""
        if isinstance(origin, SnapshotRecord):
            yield
            return
        # Several copies may be made at once, and a file system can be frozen only once.
        async with self._frozen.setdefault(origin.id, asyncio.Lock()):
            devices = self._devices(origin)
            mounted = file_systems_of(devices, read_mounts())
            for device in devices if not mounted else ():
                await run(["blockdev", "--flushbufs", device], within=WITHIN)
            if not mounted:
                yield
                return
            await filesystems.freeze(mounted[0].path)
            try:
                yield
            finally:
                await filesystems.thaw(mounted[0].path)

    async def _renew(self, volume: VolumeRecord) -> None:
        """The copy of a file system must not be taken for its origin."""
        images = [files.unfinished(image) for image in self._images(volume)]
        match await filesystems.content_of(images[0]):
            case filesystems.BTRFS:
                renew_identity(images, UUID(self._ids.uid()))
            case filesystems.EXT4:
                await filesystems.check_ext4(images[0], "-f")
                await run(["tune2fs", "-U", "random", images[0]], within=WITHIN)
            case filesystems.XFS:
                await self._renew_xfs(images[0], self._copying / volume.id)
            case _:
                return

    async def _renew_xfs(self, image: Path, place: Path) -> None:
        """Its log must be empty for that: mounting it once empties it."""
        device = await loop_devices.attach(image)
        make_directory(place)
        await run(["mount", "-t", XFS, "-o", "nouuid", device, place], within=WITHIN)
        await unmount(place)
        await run(["xfs_admin", "-U", "generate", device], within=WITHIN)
        await loop_devices.detach(image)

    def _finish(self, record: Recorded) -> None:
        for image in self._images(record):
            files.finish(image)

    async def remove(self, record: Recorded) -> None:
        await unmount(self._copying / record.id)
        if isinstance(record, VolumeRecord):
            await self.close(record)
        for image in self._images(record):
            await loop_devices.detach(files.unfinished(image))
            await files.discard(image)
            self._space.forget(image)
        self._frozen.pop(record.id, None)

    async def grow(self, volume: VolumeRecord, size_bytes: int) -> None:  # noqa: ARG002 - its parts say how much each image is
        if lost := _missing(self._images(volume)):
            raise failed_precondition(f"volume {volume.id}: {lost[0]} is gone; it cannot grow")
        for image, size in self._sizes(volume):
            await files.enlarge(image, size)
            self._space.promise(image, size)
            for device in loop_devices.loops_of(image):
                await loop_devices.resize(device)

    async def snapshot(self, snapshot: SnapshotRecord, volume: VolumeRecord) -> None:
        await self._copy(volume, snapshot)
        self._finish(snapshot)

    async def open(self, volume: VolumeRecord) -> Source:
        form = self._form_of(volume)
        images = self._images(volume)
        lost = _missing(images)
        if lost and (form.arrangement is not LocalArrangement.MIRRORED or len(lost) == len(images)):
            raise internal(f"volume {volume.id}: {lost[0]} is gone, and its data with it")
        # Discarded blocks may have gone back to the disk; the volume has a right to them.
        for image, size in self._sizes(volume):
            if image not in lost:
                await files.reserve(image, size)
        devices = [await loop_devices.attach(image) for image in images if image not in lost]
        return _source(devices, form, degraded=bool(lost))

    def opened(self, volume: VolumeRecord) -> Source | None:
        form = self._form_of(volume)
        devices = self._devices(volume)
        if not devices:
            return None
        return _source(devices, form, degraded=len(devices) < form.shares)

    async def close(self, volume: VolumeRecord) -> None:
        await filesystems.forget(self._form_of(volume).fs_type, self._devices(volume))
        for image in self._images(volume):
            await loop_devices.detach(image)

    async def condition(self, volume: VolumeRecord) -> VolumeHealth:
        form = self._form_of(volume)
        images = self._images(volume)
        lost = await asyncio.to_thread(_missing, images)
        if not lost:
            return VolumeHealth()
        if form.arrangement is LocalArrangement.MIRRORED and len(lost) < len(images):
            text = f"one of two copies is lost: {lost[0]} is gone; copy the data to a new volume"
        else:
            text = f"{lost[0]} is gone, and the data with it; restore it from a snapshot"
        return VolumeHealth(abnormal=True, message=text)

    async def settle(self, records: Sequence[Recorded]) -> None:
        """Detach what no pod uses, and what belongs to no record."""
        for image, size in chain.from_iterable(self._sizes(record) for record in records):
            self._space.promise(image, size)
        for place in entries(self._copying):
            await unmount(place)
        fs_types = {
            image.resolve(): self._form_of(record).fs_type
            for record in records
            for image in self._images(record)
        }
        for device, file in loop_devices.loops().items():
            if self._is_ours(file):
                await settle_device(device, file, fs_types.get(file))

    def _is_ours(self, file: Path) -> bool:
        return any(disk.holds(file) for disk in self._disks.all())

    def _devices(self, record: Recorded) -> list[Path]:
        attached = {file: device for device, file in loop_devices.loops().items()}
        images = [image.resolve() for image in self._images(record)]
        return [attached[image] for image in images if image in attached]

    def _images(self, record: Recorded) -> list[Path]:
        return [image for image, _ in self._sizes(record)]

    def _sizes(self, record: Recorded) -> list[tuple[Path, int]]:
        folder = VOLUMES if isinstance(record, VolumeRecord) else SNAPSHOTS
        name = f"{record.id}{IMAGE}"
        return [
            (self._disks.path(part, folder, name), part.bytes) for part in record.placement.parts
        ]


def _source(devices: Sequence[Path], form: LocalForm, *, degraded: bool) -> DeviceSource:
    options = MOUNT_OPTIONS.get(form.fs_type, ())
    return DeviceSource(
        devices=tuple(devices),
        fs_type=form.fs_type,
        mount_options=(*options, DEGRADED) if degraded else options,
        format_options=FORMAT_OPTIONS[form.arrangement],
    )


def _missing(images: Sequence[Path]) -> list[Path]:
    return [image for image in images if not image.exists()]
