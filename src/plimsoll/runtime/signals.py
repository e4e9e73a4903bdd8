"""How a process is asked to end: by SIGTERM and SIGINT, of which only the first counts."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


def end_asked() -> asyncio.Event:
    """An event that SIGTERM and SIGINT set from now on; a second signal changes nothing."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    return asked


async def until_signalled(work: Coroutine[Any, Any, None]) -> None:
    """Run the work until it ends or a signal asks for the end; then it is cancelled.

    What the work raises by itself is raised here.
    """
    asked = end_asked()
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(asked.wait())
    await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not working.done():
        log.info("process stopping")
        working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working
