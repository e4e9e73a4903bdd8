"""Disks that outlive the processes which write to them, with an fsync that takes virtual time."""

import sqlite3
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from plimsoll.apiserver.storage.store import LogRow, MemoryStore, StoreFailedError
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.simulator.engine.chance import seconds
from plimsoll.simulator.engine.process import ProcessClock

T = TypeVar("T")


class ServerDisk(MemoryStore):
    """The log of the API server. A batch counts when its fsync has returned.

    The server that writes to it may be cut off before, during or after the fsync: then the batch
    is on the disk or it is not, but never in part. The content stays for the next server.
    """

    inline = False

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False

    def append(self, rows: Sequence[LogRow]) -> None:
        if self.is_full:
            raise StoreFailedError("no space left on the simulated disk")
        super().append(rows)


class Fsync:
    """Waits for the disk. As chance has it, the change is durable before the wait, or after it."""

    def __init__(self, clock: ProcessClock, chance: Random, most: float = 0.004) -> None:
        self._clock = clock
        self._chance = chance
        self._most = most

    async def __call__(self, function: Callable[[], T], /) -> T:
        wait = (self._chance.random() - 0.5) * self._most * 2
        if wait > 0:
            await self._clock.sleep(seconds(wait))
            return function()
        try:
            return function()
        finally:
            await self._clock.sleep(seconds(-wait))


class _KeptConnection(sqlite3.Connection):
    def close(self) -> None:
        """The content stays for the next driver."""


class DriverDisk:
    """What the records of a driver are written to."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(
            ":memory:", isolation_level=None, factory=_KeptConnection, check_same_thread=False
        )

    def ledger(self) -> Ledger:
        """The records as they are now, for the next life of the driver."""
        return Ledger.of(self._db)

    def discard(self) -> None:
        sqlite3.Connection.close(self._db)
