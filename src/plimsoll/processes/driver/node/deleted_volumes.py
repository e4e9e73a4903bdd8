"""Volumes without a record that are still shown on this node: they were deleted elsewhere.

A node that was cut off keeps what it had mounted, while other nodes take its volumes over and
delete them. When its kubelet ends the pods at last, their mounts and devices have to go all the
same. Only what this driver has opened itself is taken away.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from plimsoll.processes.driver.backends.protocol import ShowsDeletedVolumes
from plimsoll.processes.driver.node.mounting.protocol import Shown
from plimsoll.processes.driver.node.mounting.targets import clear, real
from plimsoll.processes.driver.node.node_context import DEVICE_FILE, NodeContext, failures_told
from plimsoll.processes.driver.work import node_key

log = logging.getLogger(__name__)


class DeletedVolumes:
    def __init__(self, context: NodeContext) -> None:
        self._context = context

    async def unpublish(self, volume_id: str, target: Path) -> None:
        """Harmless for what is not shown there. Raises CsiStatusError."""

        async def unpublish() -> None:
            with failures_told(volume_id):
                if await self._take_away(volume_id, target):
                    clear(target)

        await self._alone(volume_id, unpublish)

    async def unstage(self, volume_id: str, path: Path) -> None:
        """Of pods that have ended: what is still published elsewhere keeps its device."""

        async def unstage() -> None:
            with failures_told(volume_id):
                await self._take_away(volume_id, path)
                if await self._take_away(volume_id, path / DEVICE_FILE):
                    clear(path / DEVICE_FILE)
                await self._close(volume_id)

        await self._alone(volume_id, unstage)

    async def _alone(self, volume_id: str, work: Callable[[], Awaitable[None]]) -> None:
        context = self._context
        if isinstance(context.driver.backend, ShowsDeletedVolumes):
            await context.driver.work.alone(work, node_key(volume_id, context.node.id))

    async def _take_away(self, volume_id: str, path: Path) -> bool:
        is_ours = any(shown.path == real(path) for shown in self._places(volume_id))
        if is_ours:
            await self._context.mounting.unmount(path)
            log.info("deleted volume unmounted", extra={"volume": volume_id, "path": str(path)})
        return is_ours

    async def _close(self, volume_id: str) -> None:
        backend = self._context.driver.backend
        if isinstance(backend, ShowsDeletedVolumes) and not self._places(volume_id):
            await backend.close_by_id(volume_id)

    def _places(self, volume_id: str) -> Sequence[Shown]:
        backend = self._context.driver.backend
        found = (
            backend.opened_by_id(volume_id) if isinstance(backend, ShowsDeletedVolumes) else None
        )
        return () if found is None else self._context.mounting.places(found)
