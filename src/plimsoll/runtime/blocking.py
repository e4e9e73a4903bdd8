"""How code that blocks is called from the event loop: in a thread, or otherwise in a simulation."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from plimsoll.runtime.deadlines import in_own_thread

T = TypeVar("T")


class Blocking(Protocol):
    """Calls a function that may block for long, without holding up other tasks."""

    async def __call__(self, function: Callable[[], T], /) -> T: ...


async def in_thread(function: Callable[[], T], /) -> T:
    """One that never returns holds up no other call, nor the end of the process."""
    return await in_own_thread(function, BaseException)
