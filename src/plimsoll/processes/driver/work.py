"""Work that outlives the call that asked for it, one at a time for each volume or snapshot.

The caller of a driver may go away at any moment. What it began is finished nevertheless, and a
second call for the same thing is meanwhile answered with ABORTED, as CSI wants it. So there is
never more than one attempt, and no attempt stops half-way because its caller ran out of time.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection
from datetime import timedelta
from typing import Any, TypeVar

from plimsoll.runtime.clock import Clock
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.refusals import aborted

log = logging.getLogger(__name__)

T = TypeVar("T")

STOP_DEADLINE = timedelta(seconds=20)
"""How long what is under way may take to end when the driver is stopped."""
EXCLUSIVE = -1


class Busy:
    """Which things are being worked on: by one alone, or by several that only look at them."""

    def __init__(self) -> None:
        self._users: dict[str, int] = {}

    def take(self, alone: Collection[str], shared: Collection[str]) -> None:
        """All or nothing. Raises CsiStatusError (ABORTED)."""
        for key in (*alone, *shared):
            users = self._users.get(key, 0)
            if users == EXCLUSIVE or (users and key in alone):
                raise aborted(f"{key}: another call for it is under way; try again later")
        self._users.update(dict.fromkeys(alone, EXCLUSIVE))
        for key in shared:
            self._users[key] = self._users.get(key, 0) + 1

    def release(self, alone: Collection[str], shared: Collection[str]) -> None:
        for key in alone:
            del self._users[key]
        for key in shared:
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key]


class Placing:
    """The turns of callers that read the free capacity, and record what they take of it.

    Storage that does not answer keeps the caller whose turn it is until a time limit. Callers that
    waited meanwhile are refused as that one was: each would come to the same limit, one after the
    other, and the last would have no answer in time.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._failure: CsiStatusError | None = None
        self._failures = 0

    async def __aenter__(self) -> None:
        """Raises CsiStatusError."""
        failures = self._failures
        await self._turn.acquire()
        if self._failures > failures and self._failure is not None:
            self._turn.release()
            raise CsiStatusError(self._failure.code, self._failure.detail)

    async def __aexit__(self, *_: object) -> None:
        self._turn.release()

    def failed(self, failure: CsiStatusError) -> None:
        """The capacity could not be read, for a reason that has nothing to do with the caller."""
        self._failure, self._failures = failure, self._failures + 1


class Work:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._busy = Busy()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def alone(
        self, work: Callable[[], Awaitable[T]], *keys: str, shared: Collection[str] = ()
    ) -> T:
        """Raises CsiStatusError (ABORTED) when one of the things is being worked on already.

        Cancelling the caller does not end the work.
        """
        alone = tuple(dict.fromkeys(keys))  # in their order: a refusal tells the first busy one
        self._busy.take(alone, shared)

        async def carried_out() -> T:
            try:
                return await work()
            finally:
                self._busy.release(alone, shared)

        task = asyncio.ensure_future(carried_out())
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        # The caller may have gone away: then only the log can tell of the failure.
        if not task.cancelled() and (error := task.exception()) is not None:
            level = logging.DEBUG if isinstance(error, CsiStatusError) else logging.ERROR
            log.log(level, "work failed", extra={"error": f"{type(error).__name__}: {error}"})

    async def close(self) -> None:
        """Wait for what is under way; what takes too long is settled on the next start."""
        with contextlib.suppress(TimeoutError):
            async with self._clock.timeout(STOP_DEADLINE):
                while self._tasks:
                    await asyncio.wait(tuple(self._tasks))
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))


def name_key(name: str) -> str:
    return f"volume name {name}"


def volume_key(volume_id: str) -> str:
    return f"volume {volume_id}"


def node_key(volume_id: str, node_id: str) -> str:
    """What a node does with a volume, apart from what other nodes do with it."""
    return f"volume {volume_id} on node {node_id}"


def snapshot_name_key(name: str) -> str:
    return f"snapshot name {name}"


def snapshot_key(snapshot_id: str) -> str:
    return f"snapshot {snapshot_id}"
