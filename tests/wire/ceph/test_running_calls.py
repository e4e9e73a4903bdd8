"""Calls that were given up count until they return."""

import asyncio
import threading
from datetime import timedelta

import pytest

from plimsoll.runtime.deadlines import in_thread_within
from plimsoll.wire.ceph.running_calls import Beginning, RunningCalls

SHORT, LONG = timedelta(milliseconds=20), timedelta(seconds=30)


def test_without_calls_there_is_nothing_to_wait_for() -> None:
    assert RunningCalls().end_within(timedelta())


async def test_a_call_that_was_given_up_is_waited_for_until_it_returns() -> None:
    calls, answered = RunningCalls(), threading.Event()
    with pytest.raises(TimeoutError):
        await in_thread_within(SHORT, calls.counted(answered.wait), ())
    assert not calls.end_within(SHORT)

    answered.set()

    assert await asyncio.to_thread(calls.end_within, LONG)


async def test_a_call_that_fails_has_ended_as_well() -> None:
    calls = RunningCalls()

    def fail() -> None:
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        await in_thread_within(LONG, calls.counted(fail), ValueError)

    assert await asyncio.to_thread(calls.end_within, LONG)


async def test_a_name_is_given_up_until_its_last_call_has_returned() -> None:
    calls, answered = RunningCalls(), threading.Event()
    waiting = calls.counted(answered.wait, "image")
    with pytest.raises(TimeoutError):
        await in_thread_within(SHORT, waiting, ())
    assert not calls.is_given_up("image")

    calls.give_up("image")

    assert calls.is_given_up("image")
    assert not calls.is_given_up("other")
    answered.set()
    await asyncio.to_thread(calls.end_within, LONG)
    assert not calls.is_given_up("image")


def test_a_name_without_calls_is_not_given_up() -> None:
    calls = RunningCalls()
    calls.give_up("image")
    assert not calls.is_given_up("image")


def test_a_call_that_was_given_up_never_begins() -> None:
    waiting = Beginning()
    assert waiting.give_up()
    assert not waiting.begin()


def test_a_call_that_has_begun_is_not_given_up() -> None:
    waiting = Beginning()
    assert waiting.begin()
    assert not waiting.give_up()
