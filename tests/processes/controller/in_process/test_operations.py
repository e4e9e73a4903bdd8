import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from random import Random

from plimsoll.processes.controller.in_process.operations import Operations, OperationVerdict
from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.wire.errors import Failure, KubeError
from tests.processes.controller.in_process.at_work import at_work


class Desk:
    """Asks for operations again whenever it is woken, as the control loop does."""

    def __init__(self) -> None:
        self.clock = SteppedClock()
        self.operations = Operations(self.clock, Random(1))
        self.verdicts: list[OperationVerdict] = []
        self.begun: list[float] = []
        self.woken: list[timedelta] = []
        self.door = asyncio.Event()
        self.door.set()

    async def work(self) -> OperationVerdict:
        self.begun.append(self.clock.monotonic())
        await self.door.wait()
        return self.verdicts.pop(0) if self.verdicts else OperationVerdict.DONE

    def ask(self, volume: str = "volume-1") -> None:
        self.operations.begin(volume, self.work, lambda delay: self._wake(volume, delay))

    def _wake(self, volume: str, delay: timedelta) -> None:
        self.woken.append(delay)
        self.clock.call_later(delay, lambda: self.ask(volume))


@asynccontextmanager
async def a_desk() -> AsyncIterator[Desk]:
    desk = Desk()
    async with at_work(desk.operations.run()):
        yield desk


async def test_there_is_one_operation_at_a_time_for_a_volume() -> None:
    async with a_desk() as desk:
        desk.door.clear()
        for _ in range(3):
            desk.ask()
        desk.ask("volume-2")
        await settle()
        assert len(desk.begun) == 2


async def test_an_object_that_asks_during_an_operation_is_woken_after_it() -> None:
    async with a_desk() as desk:
        desk.door.clear()
        desk.ask()
        desk.ask()
        await settle()
        desk.door.set()
        await settle()
        assert desk.woken == [timedelta()]


async def test_no_object_is_woken_by_an_operation_that_is_done() -> None:
    async with a_desk() as desk:
        desk.ask()
        await settle()
        assert desk.woken == []


async def test_failures_are_tried_again_after_growing_delays() -> None:
    async with a_desk() as desk:
        desk.verdicts = [OperationVerdict.TRY_AGAIN] * 6
        desk.ask()
        await desk.clock.run(timedelta(minutes=5))
        assert len(desk.begun) == 7
        pauses = [later - sooner for sooner, later in zip(desk.begun, desk.begun[1:], strict=False)]
        assert pauses == sorted(pauses)
        assert 0.25 <= pauses[0] <= 0.5


async def test_asking_more_often_does_not_shorten_the_delay() -> None:
    async with a_desk() as desk:
        desk.verdicts = [OperationVerdict.TRY_AGAIN] * 4
        desk.ask()
        for _ in range(100):
            await desk.clock.run(timedelta(milliseconds=10))
            desk.ask()
        assert len(desk.begun) <= 3


async def test_a_server_that_fails_is_a_reason_to_try_again() -> None:
    async with a_desk() as desk:
        attempts: list[int] = []

        async def work() -> OperationVerdict:
            attempts.append(1)
            if len(attempts) == 1:
                raise KubeError(Failure.UNAVAILABLE, "away")
            return OperationVerdict.DONE

        def ask() -> None:
            desk.operations.begin("volume-1", work, wake)

        def wake(delay: timedelta) -> None:
            desk.clock.call_later(delay, ask)

        ask()
        await desk.clock.run(timedelta(seconds=2))
        assert len(attempts) == 2
