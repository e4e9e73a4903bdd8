"""Publishing: a staged volume becomes visible where one pod looks for it.

The first publish is recorded before the pod can see the volume, and for ever: from then on the
volume may hold a user's data.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from plimsoll.processes.driver.backends.protocol import DeviceSource
from plimsoll.processes.driver.controller.requests import READERS
from plimsoll.processes.driver.node.mounting.protocol import Shown
from plimsoll.processes.driver.node.mounting.targets import check_free, clear
from plimsoll.processes.driver.node.node_context import NodeContext, Use, check_use, staging_place
from plimsoll.processes.driver.records import Attachment, VolumeMode, VolumeRecord
from plimsoll.processes.driver.settings import Mounts
from plimsoll.runtime.commands import run
from plimsoll.wire.csi.refusals import already_exists, failed_precondition

log = logging.getLogger(__name__)

WITHIN = timedelta(seconds=30)


class NodePublishing:
    def __init__(self, context: NodeContext) -> None:
        self._context = context

    async def publish(
        self, volume: VolumeRecord, target: Path, use: Use, *, staged_at: Path, read_only: bool
    ) -> None:
        context = self._context
        check_use(volume, use, context.opened(volume))
        context.check_attached(volume)
        await context.mend(volume)
        read_only = read_only or use.capability.access_mode in READERS
        staged = context.place(volume, staging_place(volume, staged_at))
        if staged is None:
            raise failed_precondition(
                f"volume {volume.id}: is not staged at {staged_at}; call NodeStageVolume first"
            )
        if (shown := context.mounting.find(target)) is not None:
            self._published_already(volume, shown, staged, read_only=read_only)
            return
        self._check_others(volume, use, staged)
        check_free(target, context.mounting.kind)
        await context.driver.record_first_publish(volume.id)
        if volume.mode is VolumeMode.BLOCK:
            await self._set_read_only(volume, staged, read_only=read_only)
        await context.mounting.bind(staged.path, target, read_only=read_only)
        log.info("volume published", extra={"volume": volume.id, "node": context.node.id})

    def _published_already(
        self, volume: VolumeRecord, shown: Shown, staged: Shown, *, read_only: bool
    ) -> None:
        if shown.content != staged.content:
            raise failed_precondition(
                f"volume {volume.id}: something else is mounted at {shown.path}; unmount it"
            )
        if shown.is_read_only != read_only:
            state = "read-only" if shown.is_read_only else "writable"
            raise already_exists(
                f"volume {volume.id}: is published at {shown.path} already, {state}"
            )

    def _check_others(self, volume: VolumeRecord, use: Use, staged: Shown) -> None:
        others = self._published(volume, staged)
        if others and use.capability.access_mode == "SINGLE_NODE_SINGLE_WRITER":
            raise failed_precondition(
                f"volume {volume.id}: is published at {others[0].path}, and is for a single user"
            )

    def _published(self, volume: VolumeRecord, staged: Shown) -> Sequence[Shown]:
        return tuple(shown for shown in self._context.places(volume) if shown.path != staged.path)

    async def _set_read_only(self, volume: VolumeRecord, staged: Shown, *, read_only: bool) -> None:
        """A read-only view of a device's node does not protect the device: that has its own flag,
        the same for all who use it."""
        context = self._context
        source = context.opened(volume)
        if context.mounting.kind is not Mounts.REAL or not isinstance(source, DeviceSource):
            return
        others = self._published(volume, staged)
        if others and others[0].is_read_only != read_only:
            raise failed_precondition(
                f"volume {volume.id}: is published at {others[0].path}; a block volume is"
                " read-only for all pods of a node or for none"
            )
        if different := [a for a in _elsewhere(volume, context) if _reads_only(a) is not read_only]:
            raise failed_precondition(
                f"volume {volume.id}: is attached to node {different[0].node_id}; a block volume is"
                " read-only on all nodes of this machine or on none"
            )
        flag = "--setro" if read_only else "--setrw"
        await run(["blockdev", flag, source.devices[0]], within=WITHIN)

    async def unpublish(self, volume: VolumeRecord, target: Path) -> None:
        context = self._context
        shown = context.mounting.find(target)
        if shown is not None and shown not in context.places(volume):
            raise failed_precondition(
                f"volume {volume.id}: something else is mounted at {target}; unmount it"
            )
        await context.mounting.unmount(target)
        if context.mounting.kind is not Mounts.NONE:
            clear(target)
        log.info("volume unpublished", extra={"volume": volume.id, "node": context.node.id})


def _elsewhere(volume: VolumeRecord, context: NodeContext) -> list[Attachment]:
    return [each for each in volume.attachments if each.node_id != context.node.id]


def _reads_only(attachment: Attachment) -> bool:
    return attachment.read_only or attachment.access_mode in READERS
