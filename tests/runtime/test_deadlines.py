import asyncio
import threading
from datetime import timedelta

import pytest

from plimsoll.runtime.deadlines import in_thread_within

LONG, SHORT = timedelta(seconds=30), timedelta(milliseconds=20)


def refuse() -> None:
    raise KeyError("key")


async def test_a_call_returns_what_the_function_does() -> None:
    assert await in_thread_within(LONG, threading.get_ident, ()) != threading.get_ident()


async def test_what_the_function_raises_reaches_the_caller() -> None:
    with pytest.raises(KeyError):
        await in_thread_within(LONG, refuse, KeyError)


async def test_what_is_not_expected_is_reported_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: reported.set())
    with pytest.raises(KeyError):
        await in_thread_within(LONG, refuse, ())
    assert await asyncio.to_thread(reported.wait, 10)


async def test_a_call_that_takes_too_long_is_given_up_and_its_answer_dropped() -> None:
    go_on = threading.Event()
    with pytest.raises(TimeoutError):
        await in_thread_within(SHORT, go_on.wait, ())
    go_on.set()
    await asyncio.sleep(0.01)


async def test_a_call_that_is_given_up_does_not_hold_up_the_loop() -> None:
    go_on = threading.Event()
    waiting = asyncio.ensure_future(in_thread_within(LONG, go_on.wait, ()))
    assert await in_thread_within(LONG, lambda: 1, ()) == 1
    go_on.set()
    assert await waiting
