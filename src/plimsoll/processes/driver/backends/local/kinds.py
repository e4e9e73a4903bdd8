"""What each kind of local volume must do; the backend picks the kind and does the rest."""

from collections.abc import Sequence
from typing import Protocol

from plimsoll.processes.driver.backends.protocol import Source, VolumeHealth
from plimsoll.processes.driver.records import SnapshotRecord, VolumeRecord

Recorded = VolumeRecord | SnapshotRecord


class LocalKind(Protocol):
    """As the backend's own methods; what fails is an OSError, a CommandError or a refusal."""

    async def make(self, volume: VolumeRecord, origin: Recorded | None) -> None: ...

    async def remove(self, record: Recorded) -> None: ...

    async def grow(self, volume: VolumeRecord, size_bytes: int) -> None: ...

    async def snapshot(self, snapshot: SnapshotRecord, volume: VolumeRecord) -> None: ...

    async def open(self, volume: VolumeRecord) -> Source: ...

    def opened(self, volume: VolumeRecord) -> Source | None: ...

    async def close(self, volume: VolumeRecord) -> None: ...

    async def condition(self, volume: VolumeRecord) -> VolumeHealth: ...

    async def settle(self, records: Sequence[Recorded]) -> None:
        """All of this kind that there are."""
        ...
