import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from plimsoll.processes.controller.in_process.calls import (
    FORGOTTEN_AFTER,
    MOST_UNANSWERED,
    ProvisionerCalls,
    ProvisionerQuestion,
)
from plimsoll.processes.controller.in_process.provisioners.protocol import ProvisionerError, Trouble
from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.runtime.leading.fence import Fence
from plimsoll.wire.errors import FencedError
from tests.processes.controller.in_process.at_work import at_work

LIMIT = timedelta(seconds=15)


class Desk:
    """Asks a provisioner that answers when its door is open."""

    def __init__(self) -> None:
        self.clock = SteppedClock()
        self.calls = ProvisionerCalls(self.clock, Fence.left_open(self.clock), LIMIT)
        self.door = asyncio.Event()
        self.begun: list[str] = []
        self.answer: Callable[[], str] = lambda: "made"

    async def work(self, asset: str) -> str:
        self.begun.append(asset)
        await self.door.wait()
        return self.answer()

    def begin(
        self, asset: str, what: str = "provisioning", provisioner: str = "shelf"
    ) -> "asyncio.Future[str]":
        question = ProvisionerQuestion(provisioner=provisioner, asset=asset, what=what)
        return asyncio.ensure_future(self.calls.ask(question, lambda: self.work(asset)))

    async def ask(
        self, asset: str = "pvc-1", what: str = "provisioning", provisioner: str = "shelf"
    ) -> str:
        """What came of it: the answer, or the message of the error."""
        asked = self.begin(asset, what, provisioner)
        await settle()
        if not asked.done():
            await self.clock.run(LIMIT)
        try:
            return await asked
        except ProvisionerError as error:
            return error.message if error.trouble is Trouble.TRY_AGAIN else str(error.trouble)


@asynccontextmanager
async def a_desk() -> AsyncIterator[Desk]:
    desk = Desk()
    async with at_work(desk.calls.run()):
        yield desk


async def test_an_answer_in_time_is_passed_on() -> None:
    async with a_desk() as desk:
        desk.door.set()
        assert await desk.ask() == "made"
        assert await desk.ask() == "made"
        assert desk.begun == ["pvc-1", "pvc-1"], "nothing is remembered of it"


async def test_a_call_without_an_answer_is_told_and_nothing_else_is_asked_until_it_ends() -> None:
    async with a_desk() as desk:
        told = await desk.ask()
        assert "provisioner shelf has not answered a call for pvc-1 within 15 s" in told
        for what in ("provisioning", "deletion"):
            assert await desk.ask(what=what) == told
        assert desk.begun == ["pvc-1"]
        desk.door.set()
        await settle()
        assert await desk.ask(what="deletion") == "made"
        assert desk.begun == ["pvc-1", "pvc-1"]


async def test_a_late_answer_is_that_of_the_next_call_which_asks_the_same() -> None:
    async with a_desk() as desk:
        await desk.ask()
        desk.door.set()
        await settle()
        assert await desk.ask() == "made"
        assert desk.begun == ["pvc-1"]
        assert await desk.ask() == "made"
        assert desk.begun == ["pvc-1", "pvc-1"]


async def test_a_late_answer_for_another_object_is_not_taken() -> None:
    """What was emptied after the claim before may hold the data of this one."""
    async with a_desk() as desk:
        await desk.ask(what="recycling of volume-1 after claim-1")
        desk.door.set()
        await settle()
        await desk.ask(what="recycling of volume-1 after claim-2")
        assert len(desk.begun) == 2


async def test_a_late_error_is_an_answer() -> None:
    async with a_desk() as desk:

        def fail() -> str:
            raise ProvisionerError(Trouble.TRY_AGAIN, "no room after all")

        desk.answer = fail
        await desk.ask()
        desk.door.set()
        await settle()
        assert await desk.ask() == "no room after all"
        assert len(desk.begun) == 1


async def test_an_answer_that_no_call_asks_for_is_forgotten() -> None:
    async with a_desk() as desk:
        await desk.ask()
        desk.door.set()
        await settle()
        await desk.clock.run(FORGOTTEN_AFTER + timedelta(seconds=1))
        assert await desk.ask() == "made"
        assert len(desk.begun) == 2


async def test_a_provisioner_that_leaves_many_calls_unanswered_is_asked_no_more() -> None:
    async with a_desk() as desk:
        for number in range(MOST_UNANSWERED):
            assert "has not answered" in await desk.ask(f"pvc-{number}")
        told = await desk.ask("pvc-more")
        assert told.startswith(f"provisioner shelf leaves {MOST_UNANSWERED} calls unanswered")
        assert "pvc-more" not in desk.begun
        assert "has not answered" in await desk.ask("pvc-more", provisioner="other")
        desk.door.set()
        await settle()
        assert await desk.ask("pvc-more") == "made"


async def test_calls_that_still_have_time_do_not_count_as_unanswered() -> None:
    async with a_desk() as desk:
        asked = [desk.begin(f"pvc-{number}") for number in range(40)]
        await settle()
        assert len(desk.begun) == 40
        desk.door.set()
        assert await asyncio.gather(*asked) == ["made"] * 40


async def test_a_call_that_cancels_itself_ends() -> None:
    async with a_desk() as desk:

        def cancel() -> str:
            raise asyncio.CancelledError

        desk.answer = cancel
        desk.door.set()
        assert await desk.ask() == "the call was cancelled"


async def test_a_provisioner_inside_is_not_asked_once_another_controller_may_lead() -> None:
    async with a_desk() as desk:
        desk.door.set()
        desk.calls = ProvisionerCalls(desk.clock, Fence(desk.clock), LIMIT)
        with pytest.raises(FencedError, match="provisioner shelf"):
            await desk.ask()
        assert desk.begun == []
