"""Staging: a volume becomes visible on the node, once, for all pods that use it there.

A device gets its file system on the first occasion and never again. The record tells whether that
was finished: what an interrupted mkfs left is not taken for a file system, and a file system that
has vanished is not replaced by an empty one.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

import msgspec

from plimsoll.processes.driver.backends.protocol import DeviceSource, DirectorySource, Source
from plimsoll.processes.driver.node import filesystems
from plimsoll.processes.driver.node.mounting.protocol import Shown
from plimsoll.processes.driver.node.mounting.targets import check_free, clear, real
from plimsoll.processes.driver.node.node_context import (
    NodeContext,
    Use,
    check_options,
    check_use,
    staging_place,
)
from plimsoll.processes.driver.records import VolumeMode, VolumeRecord
from plimsoll.processes.driver.settings import Mounts
from plimsoll.wire.csi.refusals import already_exists, failed_precondition, internal

log = logging.getLogger(__name__)


class Staging:
    def __init__(self, context: NodeContext) -> None:
        self._context = context

    async def stage(self, volume: VolumeRecord, path: Path, use: Use) -> None:
        context, place = self._context, staging_place(volume, path)
        await self._take_away_old(volume, path)
        opened = context.opened(volume)
        check_use(volume, use, opened)
        context.check_attached(volume)
        await context.mend(volume)
        if (shown := context.mounting.find(place)) is not None:
            await self._staged_already(volume, shown, use)
            return
        if opened is not None and (elsewhere := context.mounting.places(opened)):
            raise failed_precondition(
                f"volume {volume.id}: is staged at {elsewhere[0].path} already; unstage it there"
            )
        check_free(place, context.mounting.kind)
        source = await context.driver.backend.open(volume, context.node.id)
        is_shown = False
        try:
            check_use(volume, use, source)
            check_options(volume, use, source)
            await self._show(volume, source, place, use)
            is_shown = True
        finally:
            if not is_shown:
                await self._close_unused(volume)
        log.info("volume staged", extra={"volume": volume.id, "node": context.node.id})

    async def _take_away_old(self, volume: VolumeRecord, path: Path) -> None:
        """A node that was cut off, and gets the volume back, may not have unstaged it in between:
        kubelet does not, if its next pod is there already. What pods still see stays."""
        context, place = self._context, staging_place(volume, path)
        if not await context.is_cut_off(volume):
            return
        if all(shown.path == real(place) for shown in context.places(volume)):
            await self.unstage(volume, path)

    async def _staged_already(self, volume: VolumeRecord, shown: Shown, use: Use) -> None:
        source = self._context.opened(volume)
        if source is None or shown not in self._context.mounting.places(source):
            raise failed_precondition(
                f"volume {volume.id}: something else is mounted at {shown.path}; unmount it"
            )
        if shown.is_read_only != use.is_read_only:
            state = "read-only" if shown.is_read_only else "writable"
            raise already_exists(f"volume {volume.id}: is staged at {shown.path} already, {state}")
        await self.grow(volume)

    async def _show(self, volume: VolumeRecord, source: Source, place: Path, use: Use) -> None:
        mounting = self._context.mounting
        match source:
            case DirectorySource(path=directory):
                await mounting.bind(directory, place, options=use.options)
            case DeviceSource(devices=devices) if volume.mode is VolumeMode.BLOCK:
                await mounting.bind(devices[0], place)
            case DeviceSource():
                if mounting.kind is not Mounts.NONE:
                    await self._prepare(volume, source)
                await mounting.mount(source, place, use.options)
                await self.grow(await self._context.driver.volume(volume.id))

    async def _prepare(self, volume: VolumeRecord, source: DeviceSource) -> None:
        """A file system that is whole, and as large as it can be made before mounting."""
        device = source.devices[0]
        found = await filesystems.content_of(device)
        if not found and (volume.filesystem_bytes or volume.first_published_at):
            raise internal(
                f"volume {volume.id}: its file system has vanished; it is not replaced by an empty"
                " one. Restore the volume from a snapshot"
            )
        if not found or not _may_hold_data(volume):
            await filesystems.make(source.fs_type, source.devices, source.format_options)
            await self._record_filled(volume)
            return
        if found != source.fs_type:
            raise failed_precondition(
                f"volume {volume.id}: holds {found}, not {source.fs_type}; nothing was changed"
            )
        await filesystems.check(found, device)
        if volume.filesystem_bytes != volume.size_bytes:
            await filesystems.grow_unmounted(found, device)

    async def grow(self, volume: VolumeRecord) -> None:
        """Let the file system, mounted by now, fill the volume.

        Raises NotPermittedError.
        """
        source = self._context.opened(volume)
        if volume.mode is VolumeMode.BLOCK or not isinstance(source, DeviceSource):
            return
        if volume.filesystem_bytes == volume.size_bytes:
            return
        # Where a driver on another node has grown the volume, the device here does not know yet.
        await self._context.driver.backend.open(volume, self._context.node.id)
        if self._context.mounting.kind is not Mounts.NONE:
            writable = _writable(self._context.mounting.places(source), source)
            if writable is None:
                return  # a later stage will do it
            await filesystems.grow_mounted(source.fs_type, source.devices, writable)
        await self._record_filled(volume)
        log.info("file system grown", extra={"volume": volume.id, "bytes": volume.size_bytes})

    async def _record_filled(self, volume: VolumeRecord) -> None:
        filled = msgspec.structs.replace(volume, filesystem_bytes=volume.size_bytes)
        await self._context.driver.records.volumes.put(filled)

    async def unstage(self, volume: VolumeRecord, path: Path) -> None:
        place = staging_place(volume, path)
        own = self._context.places(volume)
        published = [shown.path for shown in own if shown.path != real(place)]
        if published:
            raise failed_precondition(
                f"volume {volume.id}: is still published at {published[0]}; unpublish it first"
            )
        if own:
            await self._context.mounting.unmount(place)
        elif (other := self._context.mounting.find(place)) is not None:
            raise failed_precondition(
                f"volume {volume.id}: something else is mounted at {other.path}; unmount it"
            )
        if volume.mode is VolumeMode.BLOCK:
            clear(place)
        await self._close_unused(volume)
        log.info("volume unstaged", extra={"volume": volume.id, "node": self._context.node.id})

    async def _close_unused(self, volume: VolumeRecord) -> None:
        if not self._context.places(volume):
            await self._context.driver.backend.close(volume, self._context.node.id)


def _may_hold_data(volume: VolumeRecord) -> bool:
    """Whether what looks like a file system can be one: mkfs was finished, or it is a copy."""
    return bool(
        volume.filesystem_bytes
        or volume.first_published_at
        or volume.source_volume
        or volume.source_snapshot
    )


def _writable(places: Sequence[Shown], source: DeviceSource) -> Path | None:
    return next(
        (s.path for s in places if s.fs_type == source.fs_type and not s.is_read_only), None
    )
