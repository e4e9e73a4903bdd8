"""What a fence does on a node: what can be written to there becomes read-only.

A directory stays where it is and cannot be written to. The device of a block volume is taken away,
because all nodes of the machine share it. While a program has a file or the device open for
writing, the fence fails, and says where. What was made read-only is recorded before, and becomes
writable again when the domain is released, unless the volume was detached meanwhile: then another
node may have it.
"""

import logging
from pathlib import Path

from plimsoll.processes.driver.node.mounting.protocol import Shown
from plimsoll.processes.driver.node.node_context import NodeContext, failures_told
from plimsoll.processes.driver.records import VolumeMode, VolumeRecord, WithheldMountRecord
from plimsoll.processes.driver.settings import NodeSettings

log = logging.getLogger(__name__)


class Withholding:
    """Implements `FencedNode`."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context

    @property
    def node(self) -> NodeSettings:
        return self._context.node

    async def withhold(self, volume: VolumeRecord) -> None:
        with failures_told(volume.id):
            for shown in self._context.places(volume):
                if volume.mode is VolumeMode.BLOCK:
                    await self._context.mounting.unmount(shown.path)
                elif not shown.is_read_only:
                    await self._protect(volume, shown)

    def can_write(self, volume: VolumeRecord) -> bool:
        return any(not shown.is_read_only for shown in self._context.places(volume))

    async def _protect(self, volume: VolumeRecord, shown: Shown) -> None:
        record = WithheldMountRecord(id=str(shown.path), node_id=self.node.id, volume_id=volume.id)
        self._context.driver.fences.withhold(record)
        await self._context.mounting.set_writable(shown.path, writable=False)
        facts = {"volume": volume.id, "node": self.node.id, "path": record.id}
        log.info("volume made read-only", extra=facts)

    async def restore(self, volume: VolumeRecord) -> None:
        fences = self._context.driver.fences
        if not self._context.is_attached(volume) or fences.find(self.node) is not None:
            return
        for record in [*fences.withheld(self.node.id, volume.id)]:
            shown = self._context.place(volume, Path(record.id))
            if shown is not None and shown.is_read_only:
                await self._context.mounting.set_writable(shown.path, writable=True)
            fences.give_back(record)

    def forget_gone(self, volume: VolumeRecord) -> None:
        """What is mounted there next is another mount."""
        fences = self._context.driver.fences
        for record in [*fences.withheld(self.node.id, volume.id)]:
            if self._context.place(volume, Path(record.id)) is None:
                fences.give_back(record)
