"""One running cluster for each directory.

Two locks, which the kernel releases however a process ends. The command that keeps the cluster up
holds `up.lock`, with its process id in it. It holds `processes.lock` together with every process
that it starts: after a `kill -9` of the command, the next one waits until the last of them ended,
and never has two API servers or two drivers on one directory.
"""

import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path

from plimsoll.runtime.clock import Clock

COMMAND_LOCK, PROCESSES_LOCK = "up.lock", "processes.lock"
ENDING_LIMIT = timedelta(seconds=30)
"""Processes get SIGTERM from the kernel when the command is gone, and end within seconds."""
PAUSE = timedelta(milliseconds=100)
PROC = Path("/proc")
PID_WIDTH = 19


class DirectoryInUseError(Exception):
    """The directory belongs to processes that run; names them."""


@asynccontextmanager
async def locked(directory: Path, clock: Clock) -> AsyncIterator[int]:
    """The descriptor that started processes inherit. Raises DirectoryInUseError, OSError."""
    with _opened(directory / COMMAND_LOCK) as command, _opened(directory / PROCESSES_LOCK) as all_:
        if not _taken(command):
            raise DirectoryInUseError(_already_running(directory, command))
        begun = clock.monotonic()
        while not _taken(all_):
            if clock.monotonic() - begun > ENDING_LIMIT.total_seconds():
                raise DirectoryInUseError(_not_ended(directory))
            await clock.sleep(PAUSE)
        # Always as long: over an earlier one it needs no room on a full disk.
        os.pwrite(command, f"{os.getpid():<{PID_WIDTH}}\n".encode(), 0)
        yield all_


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _already_running(directory: Path, command: int) -> str:
    pid = os.pread(command, PID_WIDTH, 0).decode().strip()
    who = f"pid {pid}" if pid else "it is starting"
    return f"{directory}: already running, {who}; stop it first, or give another --data-dir"


def _not_ended(directory: Path) -> str:
    pids = ", ".join(map(str, _holders(directory / PROCESSES_LOCK)))
    return (
        f"{directory}: processes of an earlier start have not ended after "
        f"{ENDING_LIMIT.total_seconds():.0f} s; end them: pid {pids}"
    )


def _holders(path: Path) -> list[int]:
    """Processes other than this one that have the file open, as far as we may see."""
    found = set()
    for link in PROC.glob("[0-9]*/fd/*"):
        try:
            if link.readlink() == path:
                found.add(int(link.parts[-3]))
        except OSError:  # ended meanwhile, or not ours
            continue
    return sorted(found - {os.getpid()})
