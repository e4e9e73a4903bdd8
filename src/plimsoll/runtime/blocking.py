"""How code that blocks is called from the event loop: in a thread, or otherwise in a simulation."""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class Blocking(Protocol):
    """Calls a function that may block for long, without holding up other tasks."""

    async def __call__(self, function: Callable[[], T], /) -> T: ...


async def in_thread(function: Callable[[], T], /) -> T:
    return await asyncio.to_thread(function)
