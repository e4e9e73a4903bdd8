"""How long a driver is left alone about an object after a call for it has failed.

Whatever else wakes the object's loop meanwhile, the copies of the error in other objects above all:
the driver is asked again when the pause is over, or when the object itself has changed.
"""

from dataclasses import dataclass
from datetime import timedelta
from random import Random

from plimsoll.api.meta import ObjectKey
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import NO_TIME, Clock

CALL_AGAIN = Backoff(first=timedelta(seconds=1), limit=timedelta(minutes=5))
"""As csi-snapshotter does, unless it is told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPause:
    essence: object
    """Of the object, what the call was about."""
    failures: int
    until: float


class CallPauses:
    def __init__(self, clock: Clock, chance: Random, backoff: Backoff = CALL_AGAIN) -> None:
        self._clock = clock
        self._chance = chance
        self._backoff = backoff
        self._pauses: dict[ObjectKey, CallPause] = {}

    def begin(self, key: ObjectKey, essence: object) -> timedelta:
        """A call has failed; how long the pause is."""
        before = self._pauses.get(key)
        failures = 0 if before is None or before.essence != essence else before.failures + 1
        delay = self._backoff.delay(failures, self._chance)
        until = self._clock.monotonic() + delay.total_seconds()
        self._pauses[key] = CallPause(essence=essence, failures=failures, until=until)
        return delay

    def left(self, key: ObjectKey, essence: object) -> timedelta:
        """Nothing: the driver may be asked."""
        pause = self._pauses.get(key)
        if pause is None or pause.essence != essence:
            return NO_TIME
        return max(timedelta(seconds=pause.until - self._clock.monotonic()), NO_TIME)

    def end(self, key: ObjectKey) -> None:
        """A call went well, or the object is gone."""
        self._pauses.pop(key, None)
