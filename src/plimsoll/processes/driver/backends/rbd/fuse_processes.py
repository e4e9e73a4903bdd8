"""Ends the rbd-fuse that shows a directory, where it cannot be asked to.

One whose client is on the blocklist of Ceph asks for ever, and answers neither umount nor any
process that looks into its directory. It is found by its last argument, which is the directory.
"""

import os
import signal
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

from plimsoll.runtime.clock import Clock
from plimsoll.runtime.deadlines import in_thread_within

PROC = Path("/proc")
TRIES = 100
PAUSE = timedelta(milliseconds=50)
LOOKED_WITHIN = timedelta(seconds=5)
LONGEST_COMMAND = 64 * 1024
"""Bytes; that of rbd-fuse has some hundred."""


async def kill_all_at(directory: Path, program: str, clock: Clock) -> None:
    """Returns when they are gone, or hang in the kernel themselves. Raises TimeoutError if the
    kernel does not say which processes there are: it may wait for one that hangs."""
    for _ in range(TRIES):
        found = await in_thread_within(
            LOOKED_WITHIN, partial(find_all_at, directory, program), OSError
        )
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await clock.sleep(PAUSE)


async def is_any_at(directory: Path, program: str) -> bool:
    """Raises TimeoutError as well."""
    return bool(
        await in_thread_within(LOOKED_WITHIN, partial(find_all_at, directory, program), OSError)
    )


def find_all_at(directory: Path, program: str) -> list[int]:
    return [
        int(entry.name)
        for entry in PROC.glob("[0-9]*")
        if _is_called(_arguments(entry), program, os.fsencode(directory))
    ]


def _arguments(entry: Path) -> list[bytes]:
    """None of one that has ended, or has more than any that is looked for."""
    with suppress(OSError), (entry / "cmdline").open("rb") as file:
        read = file.read(LONGEST_COMMAND + 1)
        return read.split(b"\0")[:-1] if len(read) <= LONGEST_COMMAND else []
    return []


def _is_called(arguments: list[bytes], program: str, last: bytes) -> bool:
    if not arguments:
        return False
    return Path(os.fsdecode(arguments[0])).name == program and arguments[-1] == last
