"""A loop that is at work for the length of a test."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

from plimsoll.runtime.clock import settle


@asynccontextmanager
async def at_work(loop: Coroutine[None, None, None]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(loop)
    try:
        await settle()
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
