"""The seats of a priority level, shared fairly among users.

A request takes a seat, or several, and gives them back when it is answered. Where none is free,
requests wait in a queue for each user; the next one to go is of the user who has been served least.
So a user who asks for much waits for the answers to that, and others hardly notice.
"""

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

from plimsoll.apiserver.http.flow.levels import LEVELS, PriorityLevel
from plimsoll.apiserver.model.status import ApiError
from plimsoll.runtime.clock import Clock

LONGEST_WAIT = timedelta(seconds=15)
MOST_WIDTH = 4
RECORDS_PER_SEAT = 1000


def width_of_list(records: int) -> int:
    """How many seats a list of so many objects takes."""
    return min(MOST_WIDTH, 1 + records // RECORDS_PER_SEAT)


def too_many_requests() -> ApiError:
    return ApiError(
        429,
        "TooManyRequests",
        "too many requests of yours wait for their answers: try again in a second",
        {"retryAfterSeconds": 1},
    )


@dataclass(slots=True)
class _Flow:
    """The requests of one user."""

    served: float
    """Seconds times seats, beginning with what those have had who were there already."""
    taken: int = 0
    waiting: deque[tuple[int, "asyncio.Future[None]"]] = field(default_factory=deque)
    """How many seats each wants, in the order in which they came."""


class FairSeats:
    """The seats of one level."""

    def __init__(self, level: PriorityLevel, clock: Clock) -> None:
        self.level = level
        self._clock = clock
        self._flows: dict[str, _Flow] = {}
        self._free = level.seats
        self.dispatched = 0
        self.rejected: dict[str, int] = {"queue-full": 0, "time-out": 0}
        """By kube-apiserver's names for the reasons."""

    @property
    def executing(self) -> int:
        return self.level.seats - self._free

    @property
    def in_queue(self) -> int:
        return sum(len(flow.waiting) for flow in self._flows.values())

    async def take(self, user: str, width: int = 1) -> "Seat":
        """Raises 429 when too many of the user's requests wait, or one has waited for too long."""
        width = min(width, self.level.most_seats)
        flow = self._flows.get(user)
        if flow is None:
            flow = self._flows[user] = _Flow(self._least_served())
        if self._fits(flow, width) and not self.in_queue:
            self._seat(flow, width)
        else:
            await self._wait(user, flow, width)
        return Seat(self, user, width, self._clock.monotonic())

    def _least_served(self) -> float:
        return min((flow.served for flow in self._flows.values()), default=0.0)

    def _fits(self, flow: _Flow, width: int) -> bool:
        return width <= self._free and flow.taken + width <= self.level.most_seats

    def _seat(self, flow: _Flow, width: int) -> None:
        self._free -= width
        flow.taken += width
        self.dispatched += 1

    async def _wait(self, user: str, flow: _Flow, width: int) -> None:
        if len(flow.waiting) >= self.level.most_waiting:
            self.rejected["queue-full"] += 1
            raise too_many_requests()
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        flow.waiting.append((width, called))
        self._call_next()
        try:
            async with self._clock.timeout(LONGEST_WAIT):
                await called
        except TimeoutError as error:
            self._forget(user, flow, width, called)
            self.rejected["time-out"] += 1
            raise too_many_requests() from error
        except asyncio.CancelledError:
            self._forget(user, flow, width, called)
            raise

    def _forget(self, user: str, flow: _Flow, width: int, called: "asyncio.Future[None]") -> None:
        """A request that waits no longer: its client left, or its time is up."""
        if called.done() and not called.cancelled():
            self.give_back(user, width, 0.0)
            return
        with suppress(ValueError):
            flow.waiting.remove((width, called))
        self._leave(user, flow)

    def give_back(self, user: str, width: int, seconds: float) -> None:
        flow = self._flows[user]
        flow.taken -= width
        flow.served += seconds * width
        self._free += width
        self._call_next()
        self._leave(user, flow)

    def _leave(self, user: str, flow: _Flow) -> None:
        if not flow.taken and not flow.waiting and self._flows.get(user) is flow:
            del self._flows[user]

    def _call_next(self) -> None:
        while True:
            ready = [flow for flow in self._flows.values() if self._may_go(flow)]
            if not ready:
                return
            flow = min(ready, key=lambda flow: flow.served)
            width, called = flow.waiting[0]
            if width > self._free:
                return  # it is next, and waits until enough seats are free
            flow.waiting.popleft()
            if not called.done():
                self._seat(flow, width)
                called.set_result(None)

    def _may_go(self, flow: _Flow) -> bool:
        """Its user has not all seats that one may have."""
        return bool(flow.waiting) and flow.taken + flow.waiting[0][0] <= self.level.most_seats


@dataclass(slots=True)
class Seat:
    """What a request has until it is answered; giving it back twice changes nothing."""

    _seats: FairSeats
    _user: str
    _width: int
    _since: float

    def give_back(self) -> None:
        width, self._width = self._width, 0
        if width:
            seconds = self._seats._clock.monotonic() - self._since  # noqa: SLF001 - its own seats
            self._seats.give_back(self._user, width, seconds)


def all_seats(clock: Clock) -> dict[str, FairSeats]:
    """Of every level, by name."""
    return {level.name: FairSeats(level, clock) for level in LEVELS}
