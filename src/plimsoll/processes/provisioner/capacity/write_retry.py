"""When to try again a write that the API refused: less and less often, until one succeeds."""

from datetime import timedelta
from random import Random

from plimsoll.decide.plan import Create
from plimsoll.enact.enactor import Obstacle, Outcome, Overtaken
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import NO_TIME, Clock
from plimsoll.wire.errors import Failure

OF_ONE_OBJECT = frozenset({Failure.INVALID, Failure.BAD_REQUEST, Failure.CONFLICT})


class WriteRetry:
    """After a refusal nothing is tried for a while, longer each time; one success ends that."""

    def __init__(self, clock: Clock, chance: Random, pauses: Backoff) -> None:
        self._clock = clock
        self._chance = chance
        self._pauses = pauses
        self._failures = 0
        self._until = clock.monotonic()

    @property
    def left(self) -> timedelta:
        """How long no write is to be tried."""
        return max(timedelta(seconds=self._until - self._clock.monotonic()), NO_TIME)

    async def over(self) -> None:
        """Wait until a write may be tried again."""
        while self.left > NO_TIME:
            await self._clock.sleep(self.left)

    def succeeded(self) -> None:
        self._failures = 0
        self._until = self._clock.monotonic()

    def refused(self) -> None:
        pause = self._pauses.delay(self._failures, self._chance)
        self._failures += 1
        self._until = self._clock.monotonic() + pause.total_seconds()


def concerns_all(outcome: Outcome) -> bool:
    """Whether other writes would end the same way: forbidden, or the API is missing or away."""
    match outcome:
        case Obstacle(error=error):
            return error.failure not in OF_ONE_OBJECT
        case Overtaken(write=Create(), error=error):
            return error.failure is Failure.NOT_FOUND
        case _:
            return False
