"""Calls that block, each in a thread that can be given up when its time is over.

Unlike those of an executor such a thread does not keep the process from ending. It goes on until
the call returns; what it returns then is dropped.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

T = TypeVar("T")

Expected = type[BaseException] | tuple[type[BaseException], ...]


async def in_thread_within(limit: timedelta, function: Callable[[], T], expected: Expected) -> T:
    """Raises TimeoutError when the time is over, and what the function raises.

    What it is not expected to raise is reported by the thread as well.
    """
    async with asyncio.timeout(limit.total_seconds()):
        return await in_own_thread(function, expected)


async def in_own_thread(function: Callable[[], T], expected: Expected) -> T:
    """The same without a limit."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def fail(error: BaseException) -> None:
        _tell(loop, lambda: None if result.done() else result.set_exception(error))

    def call() -> None:
        try:
            value = function()
        except expected as error:
            fail(error)
        except BaseException as error:
            fail(error)
            raise
        else:
            _tell(loop, lambda: None if result.done() else result.set_result(value))

    threading.Thread(target=call, daemon=True).start()
    return await result


def _tell(loop: asyncio.AbstractEventLoop, told: Callable[[], None]) -> None:
    """A loop that has closed meanwhile waits for no answer."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(told)
