"""How long to wait before trying again."""

from dataclasses import dataclass
from datetime import timedelta
from random import Random

MOST_DOUBLINGS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    first: timedelta
    limit: timedelta

    def delay(self, failures: int, chance: Random) -> timedelta:
        """Doubles from `first` up to `limit`, then spreads over its upper half.

        `failures` counts the failures before this one: 0 gives about `first`.
        """
        ceiling = min(self.limit, self.first * (1 << min(failures, MOST_DOUBLINGS)))
        return ceiling * chance.uniform(0.5, 1.0)
