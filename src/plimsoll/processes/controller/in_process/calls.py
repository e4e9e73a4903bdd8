"""Calls of provisioners, none of which holds up more than its own asset for longer than a limit.

A call that has not ended by then counts as one without an answer: an asset may exist. It cannot be
ended, so it goes on beside everything else. Until it has ended nothing else is asked about its
asset: a deletion never runs beside the call that it undoes. Then its answer is that of the next
call that asks the same; any other call forgets it. A provisioner that leaves too many calls
unanswered is asked nothing more until one of them has ended.
"""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar, cast

from plimsoll.processes.controller.in_process.provisioners.protocol import ProvisionerError, Trouble
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.leading.fence import Fence
from plimsoll.wire.fenced import check_fence

log = logging.getLogger(__name__)

T = TypeVar("T")

MOST_UNANSWERED = 16
"""Of one provisioner. Each may be a thread."""
FORGOTTEN_AFTER = timedelta(hours=1)
"""An answer that no call has asked for again: to ask anew is always safe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionerQuestion:
    provisioner: str
    asset: str
    what: str
    """What is asked about the asset, and for which object: an answer is for the same alone."""


@dataclass(slots=True)
class _Call(Generic[T]):
    question: ProvisionerQuestion
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    is_late: bool = False
    """Whether it did not end in time."""
    ended_at: float = 0.0
    answer: T | ProvisionerError | None = None


class ProvisionerCalls:
    def __init__(self, clock: Clock, fence: Fence, limit: timedelta) -> None:
        self._clock = clock
        self._fence = fence
        self._limit = limit
        self._calls: dict[tuple[str, str], _Call[object]] = {}
        """By provisioner and asset: those that are under way, and late answers."""
        self._group: asyncio.TaskGroup | None = None
        self._has_begun = asyncio.Event()

    async def run(self) -> None:
        """Never returns; cancel it."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            self._has_begun.set()
            await asyncio.Event().wait()

    async def ask(self, question: ProvisionerQuestion, call: Callable[[], Awaitable[T]]) -> T:
        """What the provisioner answers. Raises ProvisionerError, also if it does not answer in
        time, and FencedError, and then the provisioner was not asked."""
        check_fence(self._fence, f"provisioner {question.provisioner}")
        self._forget_old()
        asked = await self._begun(question, call)
        try:
            await self._clock.wait_for(asked.ended.wait(), self._limit)
        except TimeoutError:
            asked.is_late = True
            log.warning("provisioner has not answered", extra=_facts(question))
            raise _unanswered(question, self._limit) from None
        if asked.is_late:
            log.info("late answer taken", extra=_facts(question))
        del self._calls[question.provisioner, question.asset]
        if isinstance(asked.answer, ProvisionerError):
            raise asked.answer
        return cast("T", asked.answer)

    async def _begun(
        self, question: ProvisionerQuestion, call: Callable[[], Awaitable[T]]
    ) -> _Call[object]:
        key = (question.provisioner, question.asset)
        earlier = self._calls.get(key)
        if earlier is not None and not earlier.ended.is_set():
            raise _unanswered(question, self._limit)
        if earlier is not None and earlier.question == question:
            return earlier
        if self._count_unanswered(question.provisioner) >= MOST_UNANSWERED:
            raise _overdrawn(question.provisioner)
        begun: _Call[object] = _Call(question)
        self._calls[key] = begun
        await self._has_begun.wait()
        assert self._group is not None  # noqa: S101 - it has begun
        self._group.create_task(self._carry_out(begun, call), name=f"call {question.provisioner}")
        return begun

    async def _carry_out(self, begun: _Call[object], call: Callable[[], Awaitable[object]]) -> None:
        try:
            begun.answer = await answered(begun.question.provisioner, call)
        except ProvisionerError as error:
            begun.answer = error
        except asyncio.CancelledError:
            # Foreign code may do that, too, and a loop waits for an answer.
            begun.answer = ProvisionerError(Trouble.TRY_AGAIN, "the call was cancelled")
            raise
        finally:
            begun.ended_at = self._clock.monotonic()
            begun.ended.set()

    def _count_unanswered(self, provisioner: str) -> int:
        late = (each for each in self._calls.values() if each.is_late and not each.ended.is_set())
        return sum(each.question.provisioner == provisioner for each in late)

    def _forget_old(self) -> None:
        limit = self._clock.monotonic() - FORGOTTEN_AFTER.total_seconds()
        calls = self._calls.items()
        old = [key for key, each in calls if each.ended.is_set() and each.ended_at < limit]
        for key in old:
            del self._calls[key]


async def answered(provisioner: str, call: Callable[[], Awaitable[T]]) -> T:
    """What a provisioner answers. It is foreign code: every exception becomes a ProvisionerError,
    and its text, which could hold a secret, is neither shown nor logged."""
    try:
        return await call()
    except ProvisionerError:
        raise
    except Exception as error:  # noqa: BLE001 - foreign code may raise anything
        name, where = type(error).__name__, traceback.extract_tb(error.__traceback__)[-1]
        facts = {
            "provisioner": provisioner,
            "error": name,
            "at": f"{where.filename}:{where.lineno}",
        }
        log.error("provisioner failed", extra=facts)  # noqa: TRY400 - a traceback shows the text
        message = f"unexpected {name} in provisioner {provisioner}"
        raise ProvisionerError(Trouble.TRY_AGAIN, message) from None


def _facts(question: ProvisionerQuestion) -> dict[str, str]:
    return {"provisioner": question.provisioner, "asset": question.asset}


def _unanswered(question: ProvisionerQuestion, limit: timedelta) -> ProvisionerError:
    message = (
        f"provisioner {question.provisioner} has not answered a call for {question.asset} within "
        f"{limit.total_seconds():g} s; the call goes on, and nothing else is asked about "
        f"{question.asset} until it ends"
    )
    return ProvisionerError(Trouble.TRY_AGAIN, message)


def _overdrawn(provisioner: str) -> ProvisionerError:
    message = (
        f"provisioner {provisioner} leaves {MOST_UNANSWERED} calls unanswered; nothing more is "
        "asked of it until one of them ends"
    )
    return ProvisionerError(Trouble.TRY_AGAIN, message)
