"""Whether this process may still act as the leader: a moment by its own clock.

Election extends the fence with each renewal of its lease, counted from before the renewal was sent,
so that it closes before another copy can take over. The transports ask it right before each effect
outside the process: a process that was stopped, or whose machine slept, finds it closed when it
wakes, however long it takes until its own timers have told it so.

A fence that turned an effect away stays closed: what was decided before may not be true any more.
So does one whose effect was refused by a receiver that knows a newer leader.
"""

import asyncio
import math

from plimsoll.runtime.clock import Clock
from plimsoll.runtime.leading.epoch import LeaderEpoch


class Fence:
    """Closed until it is extended for the first time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open_until = -math.inf
        self._refused = asyncio.Event()
        self.epoch: LeaderEpoch | None = None
        """Of the leadership that it was last extended for; None without a lease."""
        self.own_since: int | None = None
        """Since which count of transitions only copies of ours have led; None: it is not known."""

    @classmethod
    def left_open(cls, clock: Clock) -> "Fence":
        """For a process that is alone and needs no lease."""
        fence = cls(clock)
        fence.extend(math.inf)
        return fence

    @property
    def is_open(self) -> bool:
        return not self._refused.is_set() and self._clock.boottime() < self._open_until

    @property
    def seconds_left(self) -> float:
        return max(self._open_until - self._clock.boottime(), 0.0)

    def only_own_led_since(self, epoch: str) -> bool:
        """Whether only copies of ours have led since the leader who noted this, itself included. No
        other program can have recorded meanwhile what that leader had begun."""
        created_at, _, transitions = epoch.partition("/")
        if self.epoch is None or self.own_since is None or not transitions.isdecimal():
            return False
        is_same_lease = created_at == self.epoch.lease_created_at.isoformat()
        return is_same_lease and int(transitions) >= self.own_since

    def extend(self, until: float, epoch: LeaderEpoch | None = None) -> None:
        """`until` is a time of `Clock.boottime`."""
        self._open_until = until
        self.epoch = epoch

    def close(self) -> None:
        """Until it is extended again."""
        self._open_until = -math.inf

    def passes(self) -> bool:
        """Ask right before each effect. Where it does not pass, the leadership has to end."""
        if self.is_open:
            return True
        self._refused.set()
        return False

    def refuse(self) -> None:
        """Nothing passes any more: the receiver of an effect knows a newer leader."""
        self._refused.set()

    async def refused(self) -> None:
        """Returns once an effect was turned away."""
        await self._refused.wait()
