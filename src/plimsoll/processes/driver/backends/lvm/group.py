"""The volume group itself: lvm2 is run here, and what it says becomes a refusal or a report."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta

from plimsoll.processes.driver.backends.lvm.commands import LOCK_SECONDS, Lvm, NewVolume
from plimsoll.processes.driver.backends.lvm.extents import OutOfExtentsError, chosen_ranges
from plimsoll.processes.driver.backends.lvm.layouts import LvmShape
from plimsoll.processes.driver.backends.lvm.report import LogicalVolume, ReportedGroup, parse_group
from plimsoll.runtime.commands import CommandError, run
from plimsoll.wire.csi.refusals import internal, resource_exhausted, unavailable

log = logging.getLogger(__name__)

WITHIN = timedelta(seconds=120 + LOCK_SECONDS)
"""lvm2 waits for other lvm2 commands on the same group, those of people included."""
WARNINGS = ("WARNING:", "File descriptor ")
"""The latter of files that the shell which started the driver has left open."""


class VolumeGroup:
    """Ranges of extents are chosen and taken in one go, so that no two volumes get the same."""

    def __init__(self, lvm: Lvm) -> None:
        self.lvm = lvm
        self._allocating = asyncio.Lock()

    async def read(self) -> ReportedGroup:
        argv = self.lvm.report()
        try:
            return parse_group((await run(argv, within=WITHIN)).stdout, self.lvm.group)
        except CommandError as error:
            raise unavailable(f"{self} cannot be read: {told(error)}") from error
        except ValueError as error:
            raise unavailable(f"{self} cannot be read: {error}") from error

    async def make(
        self,
        name: str,
        shape: LvmShape,
        *,
        size_bytes: int,
        wanted: Mapping[str, int],
        tags: tuple[str, ...],
    ) -> None:
        """`wanted`: bytes by uuid of the physical volume."""
        async with self._allocating:
            group = await self.read()
            new = NewVolume(
                name=name,
                shape=shape,
                extents=size_bytes // group.extent_bytes,
                tags=tags,
                ranges=self._ranges(group, _extents(wanted, group.extent_bytes)),
            )
            await self._allocated(self.lvm.make_volume(new), name, wanted)

    async def grow(
        self, volume: LogicalVolume, shape: LvmShape, *, size_bytes: int, wanted: Mapping[str, int]
    ) -> None:
        async with self._allocating:
            group = await self.read()
            extents = size_bytes // group.extent_bytes
            missing = _missing(_extents(wanted, group.extent_bytes), volume.held)
            argv = self.lvm.grow(
                volume.name,
                shape,
                extents=extents,
                # An administrator moved it (pvmove): then lvm2 has to choose the extents.
                ranges=self._ranges(group, missing) if missing is not None else (),
            )
            await self._allocated(argv, volume.name, {})

    def _ranges(self, group: ReportedGroup, wanted: Mapping[str, int]) -> tuple[str, ...]:
        if group.obstacle:
            raise resource_exhausted(f"{self} cannot take anything: {group.obstacle}")
        try:
            return chosen_ranges(group, wanted)
        except OutOfExtentsError as error:
            raise resource_exhausted(f"{self}: {error}") from error

    async def _allocated(self, argv: Sequence[str], name: str, wanted: Mapping[str, int]) -> None:
        try:
            await run(argv, within=WITHIN)
        except CommandError as error:
            # Another program may have allocated the extents first. That is shown by the group's
            # figures, not by the text of the error.
            group = await self.read()
            self._ranges(group, _extents(wanted, group.extent_bytes))
            raise internal(f'logical volume "{name}": {told(error)}') from error

    async def finish(self, name: str) -> None:
        await self._done(self.lvm.finish(name), name)

    async def remove(self, name: str) -> None:
        await self._done(self.lvm.remove(name), name)

    async def activate(self, name: str) -> None:
        await self._done(self.lvm.activate(name), name)

    async def deactivate(self, name: str) -> None:
        await self._done(self.lvm.deactivate(name), name)

    async def wait_for_others(self) -> None:
        try:
            await run(self.lvm.wait_for_others(), within=WITHIN)
        except CommandError as error:
            raise unavailable(
                f"{self}: a command of an earlier driver goes on: {told(error)}"
            ) from error

    async def _done(self, argv: Sequence[str], name: str) -> None:
        try:
            await run(argv, within=WITHIN)
        except CommandError as error:
            raise internal(f'logical volume "{name}": {told(error)}') from error

    def __str__(self) -> str:
        return f'volume group "{self.lvm.group}"'


def told(error: CommandError) -> str:
    """What lvm2 said, without its warnings."""
    lines = [line.strip() for line in error.stderr.splitlines()]
    said = [line for line in lines if line and not line.startswith(WARNINGS)]
    return "; ".join(said[-3:]) or str(error)


def _extents(wanted: Mapping[str, int], extent_bytes: int) -> dict[str, int]:
    return {uuid: size // extent_bytes for uuid, size in wanted.items()}


def _missing(wanted: Mapping[str, int], held: Mapping[str, int]) -> Mapping[str, int] | None:
    """What is to be added on each physical volume; None when it lies elsewhere than recorded."""
    if any(count > wanted.get(uuid, 0) for uuid, count in held.items()):
        return None
    return {uuid: count - held.get(uuid, 0) for uuid, count in wanted.items()}
