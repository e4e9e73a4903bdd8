"""A process ends when it is asked to, or when its work ends, whichever comes first."""

import asyncio
import os
import signal

import pytest

from plimsoll.runtime.signals import until_signalled


async def test_a_signal_cancels_the_work_and_is_no_error() -> None:
    begun, cleaned = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    running = asyncio.ensure_future(until_signalled(work()))
    await begun.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    await running

    assert cleaned.is_set()


async def test_work_that_ends_by_itself_ends_the_process() -> None:
    async def work() -> None:
        """There is nothing to do."""

    await until_signalled(work())


async def test_what_the_work_raises_is_not_swallowed() -> None:
    async def work() -> None:
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        await until_signalled(work())
