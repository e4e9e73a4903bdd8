"""Pools that did not answer a moment ago.

A question to such a pool waits for a time limit. Many of them, for each volume of a list, would
wait for it again and again, and the list would not be there in time. A call that has waited for it
once ends with that, and leaves to a later one what it would remove there.
"""

from datetime import datetime, timedelta

from plimsoll.runtime.clock import Clock
from plimsoll.wire.ceph.errors import CephError, CephFailure

SILENT_FOR = timedelta(seconds=2)
"""Long enough for the other questions of the same call."""


class SilentPools:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._silent: dict[str, tuple[datetime, CephError]] = {}

    def find(self, pool: str) -> CephError | None:
        """What the last question to the pool ended with, if that was a moment ago."""
        at, error = self._silent.get(pool, (None, None))
        return error if at is not None and self._clock.now() - at < SILENT_FOR else None

    def note(self, pool: str, error: CephError) -> None:
        if error.failure is CephFailure.TIMED_OUT:
            self._silent[pool] = self._clock.now(), error
