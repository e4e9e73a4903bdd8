"""What a driver called impossible, and how long to wait before it is asked for the same again."""

from datetime import timedelta

from plimsoll.api.meta import ObjectKey
from plimsoll.runtime.clock import Clock

PATIENCE = timedelta(minutes=5)


class InfeasibleRetry:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[ObjectKey, float] = {}

    def lost(self, key: ObjectKey) -> None:
        self._until[key] = self._clock.monotonic() + PATIENCE.total_seconds()

    def regained(self, key: ObjectKey) -> None:
        self._until.pop(key, None)

    def left(self, key: ObjectKey) -> timedelta | None:
        """None: ask."""
        until = self._until.get(key)
        if until is None:
            return None
        left = timedelta(seconds=until - self._clock.monotonic())
        if left > timedelta():
            return left
        self.regained(key)
        return None
