"""Ends the rbd-fuse that shows a directory, where it cannot be asked to.

One whose client is on the blocklist of Ceph asks for ever, and answers neither umount nor any
process that looks into its directory. It is found by its last argument, which is the directory.
"""

import asyncio
import os
import signal
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from plimsoll.runtime.clock import Clock

PROC = Path("/proc")
TRIES = 100
PAUSE = timedelta(milliseconds=50)


async def kill_all_at(directory: Path, program: str, clock: Clock) -> None:
    """Returns when they are gone, or hang in the kernel themselves."""
    for _ in range(TRIES):
        found = await asyncio.to_thread(find_all_at, directory, program)
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await clock.sleep(PAUSE)


def find_all_at(directory: Path, program: str) -> list[int]:
    return [
        int(entry.name)
        for entry in PROC.glob("[0-9]*")
        if _is_called(_arguments(entry), program, os.fsencode(directory))
    ]


def _arguments(entry: Path) -> list[bytes]:
    """None of one that has ended."""
    with suppress(OSError):
        return (entry / "cmdline").read_bytes().split(b"\0")[:-1]
    return []


def _is_called(arguments: list[bytes], program: str, last: bytes) -> bool:
    if not arguments:
        return False
    return Path(os.fsdecode(arguments[0])).name == program and arguments[-1] == last
