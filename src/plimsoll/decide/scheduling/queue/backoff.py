"""How long a pod waits after it could not be placed.

The time doubles with every attempt. It ends on whole seconds, so that all pods which come free in
the same second can be let out together, in the order of their priority.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

WINDOW = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """How often a pod was tried in vain."""

    unschedulable: int = 0
    consecutive_errors: int = 0
    """Since the last attempt that came to a decision; they count instead of the others."""

    @property
    def counted(self) -> int:
        return self.consecutive_errors or self.unschedulable


@dataclass(frozen=True, slots=True, kw_only=True)
class PodBackoff:
    first: timedelta = timedelta(seconds=1)
    limit: timedelta = timedelta(seconds=10)
    """Zero: pods never wait."""

    def delay(self, attempts: Attempts) -> timedelta:
        count = attempts.counted
        if not count or not self.first:
            return timedelta()
        doublings = count - 1
        # Halving the limit instead of doubling the time: nothing can overflow.
        return self.limit if self.first > self.limit / 2**doublings else self.first * 2**doublings

    def ends_at(self, attempts: Attempts, since: datetime) -> datetime | None:
        """The second in which the wait ends; None if there is none."""
        if not self.limit or not attempts.counted:
            return None
        return _second_of(since + self.delay(attempts))

    def is_over(self, attempts: Attempts, since: datetime, now: datetime) -> bool:
        """Only after the second in which it ends has passed."""
        ends_at = self.ends_at(attempts, since)
        return ends_at is None or ends_at < _second_of(now)

    def free_at(self, attempts: Attempts, since: datetime) -> datetime | None:
        """When `is_over` becomes true; None if it always is."""
        ends_at = self.ends_at(attempts, since)
        return None if ends_at is None else ends_at + WINDOW


def _second_of(at: datetime) -> datetime:
    return at.replace(microsecond=0)
