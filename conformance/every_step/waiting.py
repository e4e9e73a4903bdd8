"""Looks again and again, until something is so or the time is up."""

import asyncio
import time
from collections.abc import Awaitable, Callable

READY_SECONDS = 90.0
LOOK_SECONDS = 0.1


async def until(what: str, is_so: Callable[[], Awaitable[bool]]) -> None:
    """Raises AssertionError."""
    deadline = time.monotonic() + READY_SECONDS
    while not await is_so():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        await asyncio.sleep(LOOK_SECONDS)


async def wrong_at_last(
    look: Callable[[], Awaitable[list[str]]], *, seconds: float = READY_SECONDS
) -> list[str]:
    """What is wrong when the time is up; empty as soon as nothing is."""
    deadline = time.monotonic() + seconds
    while problems := await look():
        if time.monotonic() > deadline:
            return problems
        await asyncio.sleep(LOOK_SECONDS)
    return []
