"""A thread for work that would hold the event loop: large bodies, long lists, slow encodings.

The interpreter takes turns between the thread and the event loop, a few milliseconds each, so that
all other clients are answered meanwhile. There is one thread only: two would make the loop wait
twice as long for its turn. A server without threads, as tests and the simulator use it, does
everything at once.
"""

import asyncio
import gc
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from plimsoll.apiserver.model.status import ApiError

T = TypeVar("T")

HEAVY_BYTES = 32 * 1024
"""What this many bytes of JSON make to do is done in well under 50 ms, if they are few values."""
HEAVY_VALUES = 600
"""So many commas and brackets stand for 300 objects, which can all be wrong in five ways each."""
SLOW_FORMAT_BYTES = 4 * 1024
"""The same for YAML and custom resources, which take longer to read and write."""
HEAVY_STEPS = 5000
"""So many steps of checks and rules take about 15 ms."""
HEAVY_RECORDS = 2000
"""So many stored objects can be looked at with a short selector."""
MOST_WAITING = 200


def too_busy() -> ApiError:
    return ApiError(
        429,
        "TooManyRequests",
        "the server has too many large requests to work on: try again in a second",
        {"retryAfterSeconds": 1},
    )


class HeavyWork:
    """`inline` does everything at once, on the event loop."""

    def __init__(self, *, inline: bool) -> None:
        self.inline = inline
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="heavy")
        self._waiting = 0
        self._turns = Turns()

    async def run(self, work: Callable[[], T]) -> T:
        """What the work returns or raises."""
        if self.inline:
            return work()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(_uncollected, work))

    @asynccontextmanager
    async def writing(self, user: str) -> AsyncIterator[None]:
        """One large write at a time, from its first look at the objects until it is staged; users
        take turns.

        Raises 429 when too many wait already: their bodies take memory.
        """
        if self._waiting >= MOST_WAITING:
            raise too_busy()
        self._waiting += 1
        try:
            await self._turns.take(user)
            try:
                yield
            finally:
                self._turns.give_back()
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)


class Turns:
    """One user at a time: who asks for many turns lets each of the others have one in between."""

    def __init__(self) -> None:
        self._whose: str | None = None
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """By user; who has not had a turn for longest is first."""

    async def take(self, user: str) -> None:
        if self._whose is None:
            self._whose = user
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it has come all the same
                self.give_back()
            raise

    def give_back(self) -> None:
        while self._waiting:
            users = iter(self._waiting)
            user = next(users)
            if user == self._whose:
                user = next(users, user)
            turns = self._waiting.pop(user)
            turn = turns.popleft()
            if turns:
                self._waiting[user] = turns
            if not turn.done():
                self._whose = user
                turn.set_result(None)
                return
        self._whose = None


def _uncollected(work: Callable[[], T]) -> T:
    """Without searches for garbage, each of which would look at all that the work has made so far.

    Reference counts free nearly everything; the search that is due runs afterwards.
    """
    gc.disable()
    try:
        return work()
    finally:
        gc.enable()
