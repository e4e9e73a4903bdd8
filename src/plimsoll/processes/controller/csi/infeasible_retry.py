"""When to repeat a request that a driver called infeasible: not before five minutes have passed."""

from datetime import timedelta

from plimsoll.api.meta import ObjectKey
from plimsoll.runtime.clock import Clock

RETRY_AFTER = timedelta(minutes=5)


class InfeasibleRetry:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[ObjectKey, float] = {}

    def put_off(self, key: ObjectKey) -> None:
        self._until[key] = self._clock.monotonic() + RETRY_AFTER.total_seconds()

    def forget(self, key: ObjectKey) -> None:
        self._until.pop(key, None)

    def retry_in(self, key: ObjectKey) -> timedelta | None:
        """How long to wait with the next call; None: it may be made now."""
        until = self._until.get(key)
        if until is None:
            return None
        left = timedelta(seconds=until - self._clock.monotonic())
        if left > timedelta():
            return left
        self.forget(key)
        return None
