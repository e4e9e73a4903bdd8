import asyncio
from datetime import timedelta
from random import Random

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.strategies import sampled_from

from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.runtime.workqueue import QueueClosedError, WorkQueue

SECOND = timedelta(seconds=1)
BACKOFF = Backoff(first=SECOND, limit=timedelta(minutes=1))


def a_queue(clock: SteppedClock) -> WorkQueue[str]:
    return WorkQueue(clock, Random(0), BACKOFF)


async def test_a_key_added_twice_is_worked_on_once() -> None:
    queue = a_queue(SteppedClock())
    queue.add("a")
    queue.add("b")
    queue.add("a")
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    assert len(queue) == 0


async def test_a_key_added_during_work_runs_once_more_afterwards() -> None:
    queue = a_queue(SteppedClock())
    queue.add("a")
    key = await queue.get()
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0, "no other worker may work on it meanwhile"
    queue.done(key)
    assert await queue.get() == "a"
    queue.done("a")
    assert queue.is_idle


async def test_workers_wait_until_there_is_work() -> None:
    queue = a_queue(SteppedClock())
    workers = [asyncio.ensure_future(queue.get()) for _ in range(2)]
    await settle()
    queue.add("a")
    await settle()
    assert sorted(worker.done() for worker in workers) == [False, True]
    queue.add("b")
    assert sorted(await asyncio.gather(*workers)) == ["a", "b"]


async def test_a_delayed_key_comes_at_the_earliest_time_asked_for() -> None:
    clock = SteppedClock()
    queue = a_queue(clock)
    queue.add_after("a", 10 * SECOND)
    queue.add_after("a", 3 * SECOND)
    queue.add_after("a", 20 * SECOND)
    clock.advance(2 * SECOND)
    assert len(queue) == 0
    clock.advance(SECOND)
    assert len(queue) == 1
    await queue.get()
    queue.done("a")
    clock.advance(timedelta(minutes=1))
    assert queue.is_idle


async def test_a_failing_key_waits_longer_each_time_until_it_is_forgotten() -> None:
    clock = SteppedClock()
    queue = a_queue(clock)
    waits = []
    for _ in range(4):
        queue.add_rate_limited("a")
        wait = clock.next_due()
        assert wait is not None
        waits.append(wait)
        clock.advance(wait)
        queue.done(await queue.get())
    assert waits == sorted(waits)
    assert waits[3] >= 4 * SECOND
    assert queue.failures("a") == 4

    queue.forget("a")
    queue.add_rate_limited("a")
    again = clock.next_due()
    assert again is not None
    assert again <= SECOND


async def test_one_failing_key_does_not_delay_another() -> None:
    queue = a_queue(SteppedClock())
    queue.add_rate_limited("bad")
    queue.add("good")
    assert await queue.get() == "good"


async def test_closing_the_queue_ends_its_workers() -> None:
    clock = SteppedClock()
    queue = a_queue(clock)
    worker = asyncio.ensure_future(queue.get())
    queue.add_after("a", SECOND)
    await settle()
    queue.close()
    with pytest.raises(QueueClosedError):
        await worker
    assert clock.next_due() is None


class NoWorkIsLost(RuleBasedStateMachine):
    """Whatever the order of adds and work: after the last add of a key it is worked on, and
    never by two at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = SteppedClock()
        self.queue = self.loop.run_until_complete(self.make())
        self.owed: set[str] = set()
        self.working: list[str] = []

    async def make(self) -> WorkQueue[str]:
        return a_queue(self.clock)

    @rule(key=sampled_from("abc"))
    def add(self, key: str) -> None:
        self.queue.add(key)
        self.owed.add(key)

    @rule(key=sampled_from("abc"), seconds=sampled_from([1, 5]))
    def add_later(self, key: str, seconds: int) -> None:
        self.queue.add_after(key, seconds * SECOND)
        self.owed.add(key)

    @rule()
    def time_passes(self) -> None:
        self.clock.advance(SECOND)

    @precondition(lambda self: len(self.queue) > 0)
    @rule()
    def take(self) -> None:
        key = self.loop.run_until_complete(self.queue.get())
        assert key not in self.working
        self.working.append(key)
        self.owed.discard(key)

    @precondition(lambda self: self.working)
    @rule()
    def finish(self) -> None:
        self.queue.done(self.working.pop(0))

    @invariant()
    def an_idle_queue_owes_nothing(self) -> None:
        if self.queue.is_idle:
            assert not self.owed

    def teardown(self) -> None:
        self.clock.advance(10 * SECOND)
        for key in self.working:
            self.queue.done(key)
        while len(self.queue):
            self.owed.discard(self.loop.run_until_complete(self.queue.get()))
        self.loop.close()
        assert not self.owed


NoWorkIsLost.TestCase.settings = settings(deadline=None, max_examples=50)
TestNoWorkIsLost = NoWorkIsLost.TestCase
