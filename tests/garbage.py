"""What is left to the garbage collector, because objects refer to each other in a circle."""

import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager


@contextmanager
def _no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def garbage_of(act: Callable[[], object]) -> int:
    """How many objects the action leaves that nothing refers to from outside."""
    with _no_collection():
        act()
        return gc.collect()


async def garbage_of_waiting(act: Callable[[], Awaitable[object]]) -> int:
    with _no_collection():
        await act()
        return gc.collect()
