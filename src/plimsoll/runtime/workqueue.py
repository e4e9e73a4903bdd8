"""Work by key: each key is in the queue at most once, and at one worker at most.

The queue carries keys and nothing else; the worker that takes one looks at the present state. A
key that is added while a worker has it runs once more afterwards, so no change is missed.
"""

import asyncio
from collections import deque
from collections.abc import Hashable
from datetime import timedelta
from random import Random
from typing import Generic, TypeVar

from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import NO_TIME, Alarm, Clock

K = TypeVar("K", bound=Hashable)

DEFAULT_BACKOFF = Backoff(first=timedelta(milliseconds=50), limit=timedelta(minutes=5))


class QueueClosedError(Exception):
    """The queue was closed: the worker should end."""


class WorkQueue(Generic[K]):
    """For every `get` there must be a `done`, then `forget` or `add_rate_limited` as it went."""

    def __init__(self, clock: Clock, chance: Random, backoff: Backoff = DEFAULT_BACKOFF) -> None:
        self._clock = clock
        self._chance = chance
        self._backoff = backoff
        self._ready: deque[K] = deque()
        self._wanted: set[K] = set()  # to be worked on: ready, or again after the present work
        self._working: set[K] = set()
        self._failures: dict[K, int] = {}
        self._later: dict[K, tuple[float, Alarm]] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()
        """Workers without work, the one that has waited longest first."""
        self._is_closed = False

    def __len__(self) -> int:
        """How many keys could be worked on at this moment."""
        return len(self._ready)

    @property
    def is_idle(self) -> bool:
        """Nothing to do, nothing being done, nothing planned for later."""
        return not (self._wanted or self._working or self._later)

    def add(self, key: K) -> None:
        if self._is_closed or key in self._wanted:
            return
        self._wanted.add(key)
        if key not in self._working:
            self._make_ready(key)

    def add_after(self, key: K, delay: timedelta) -> None:
        """Add the key later; of several times asked for the earliest counts."""
        if self._is_closed:
            return
        if delay <= NO_TIME:
            self.add(key)
            return
        due = self._clock.monotonic() + delay.total_seconds()
        planned = self._later.get(key)
        if planned is not None:
            if planned[0] <= due:
                return
            planned[1].cancel()
        self._later[key] = (due, self._clock.call_later(delay, lambda: self._add_planned(key)))

    def add_rate_limited(self, key: K) -> None:
        """Work on the key failed: add it again after a delay that grows with its failures."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.add_after(key, self._backoff.delay(failures, self._chance))

    def forget(self, key: K) -> None:
        """Work on the key went well: its next failure is its first."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """The key that has waited longest. Raises QueueClosedError once the queue is closed."""
        while not self._is_closed:
            if self._ready:
                key = self._ready.popleft()
                self._wanted.discard(key)
                self._working.add(key)
                return key
            await self._woken()
        raise QueueClosedError

    async def _woken(self) -> None:
        """Wait for a turn: each key that becomes ready wakes one worker."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            elif self._ready:
                self._wake()  # A worker that ends passes its turn on.
            raise

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def done(self, key: K) -> None:
        self._working.discard(key)
        if key in self._wanted:
            self._make_ready(key)

    def close(self) -> None:
        """No worker gets a key any more; work in progress is for its worker to finish."""
        self._is_closed = True
        for _, alarm in self._later.values():
            alarm.cancel()
        self._later.clear()
        while self._waiters:
            self._wake()

    def _add_planned(self, key: K) -> None:
        del self._later[key]
        self.add(key)

    def _make_ready(self, key: K) -> None:
        self._ready.append(key)
        self._wake()
