"""Work is done alone, and to its end, even if its caller goes away."""

import asyncio

import pytest

from plimsoll.processes.driver.work import STOP_DEADLINE, Placing, Work
from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.refusals import internal, unavailable


class Door:
    """Work that waits until the test opens."""

    def __init__(self) -> None:
        self.is_open = asyncio.Event()
        self.passed = 0

    async def __call__(self) -> int:
        await self.is_open.wait()
        self.passed += 1
        return self.passed


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def work(clock: SteppedClock) -> Work:
    return Work(clock)


async def test_no_other_call_works_on_the_same_thing_meanwhile(work: Work) -> None:
    door = Door()
    first = asyncio.ensure_future(work.alone(door, "one"))
    await settle()
    with pytest.raises(CsiStatusError, match="ABORTED: one: another call"):
        await work.alone(door, "two", "one")
    door.is_open.set()
    assert await first == 1
    assert await work.alone(door, "two", "one") == 2


async def test_of_several_busy_things_the_first_one_that_a_call_names_is_told(work: Work) -> None:
    door = Door()
    names = [f"volume {number}" for number in range(9)]
    first = asyncio.ensure_future(work.alone(door, *reversed(names)))
    await settle()
    with pytest.raises(CsiStatusError, match="ABORTED: volume 0: another call"):
        await work.alone(door, *names, names[0])
    door.is_open.set()
    assert await first == 1


async def test_several_may_look_at_a_thing_that_no_call_changes(work: Work) -> None:
    door = Door()
    looking = [asyncio.ensure_future(work.alone(door, name, shared=("origin",))) for name in "ab"]
    await settle()
    with pytest.raises(CsiStatusError, match="origin"):
        await work.alone(door, "origin")
    door.is_open.set()
    assert sorted(await asyncio.gather(*looking)) == [1, 2]
    assert await work.alone(door, "origin") == 3


async def test_no_call_looks_at_a_thing_that_is_being_changed(work: Work) -> None:
    door = Door()
    changing = asyncio.ensure_future(work.alone(door, "origin"))
    await settle()
    with pytest.raises(CsiStatusError, match="origin"):
        await work.alone(door, "copy", shared=("origin",))
    door.is_open.set()
    await changing
    assert await work.alone(door, "copy", shared=("origin",)) == 2


async def test_a_caller_that_goes_away_does_not_end_the_work(work: Work) -> None:
    door = Door()
    calling = asyncio.ensure_future(work.alone(door, "one"))
    await settle()
    calling.cancel()
    await settle()
    assert calling.cancelled()
    with pytest.raises(CsiStatusError, match="ABORTED"):
        await work.alone(door, "one")
    door.is_open.set()
    await settle()
    assert door.passed == 1


async def test_a_refusal_reaches_the_caller_and_frees_the_thing(work: Work) -> None:
    async def refuse() -> None:
        raise internal("no")

    for _ in range(2):
        with pytest.raises(CsiStatusError, match="INTERNAL: no"):
            await work.alone(refuse, "one")


async def test_closing_waits_for_what_is_under_way(work: Work) -> None:
    door = Door()
    calling = asyncio.ensure_future(work.alone(door, "one"))
    await settle()
    closing = asyncio.ensure_future(work.close())
    await settle()
    assert not closing.done()
    door.is_open.set()
    await closing
    assert await calling == 1


async def test_closing_does_not_wait_for_ever(work: Work, clock: SteppedClock) -> None:
    calling = asyncio.ensure_future(work.alone(Door(), "one"))
    await settle()
    closing = asyncio.ensure_future(work.close())
    await clock.run(STOP_DEADLINE)
    await closing
    assert calling.cancelled()


async def test_callers_that_waited_for_capacity_that_cannot_be_read_are_refused_together() -> None:
    placing, door = Placing(), Door()
    refusal = unavailable("the cluster: does not answer")

    async def place() -> None:
        async with placing:
            await door()
            placing.failed(refusal)
            raise refusal

    callers = [asyncio.ensure_future(place()) for _ in range(4)]
    await settle()
    door.is_open.set()
    ended = await asyncio.gather(*callers, return_exceptions=True)
    assert [str(each) for each in ended] == ["UNAVAILABLE: the cluster: does not answer"] * 4
    assert door.passed == 1
    # The next caller asks anew: the cluster may be back.
    with pytest.raises(CsiStatusError, match="does not answer"):
        await place()
    assert door.passed == 2


async def test_callers_that_wait_for_one_that_is_refused_for_its_own_sake_have_their_turn() -> None:
    placing, door = Placing(), Door()

    async def place(name: str) -> int:
        async with placing:
            passed = await door()
            if name == "too large":
                raise internal(name)
            return passed

    callers = [asyncio.ensure_future(place(name)) for name in ("too large", "small")]
    await settle()
    door.is_open.set()
    refused, placed = await asyncio.gather(*callers, return_exceptions=True)
    assert isinstance(refused, CsiStatusError)
    assert placed == 2
