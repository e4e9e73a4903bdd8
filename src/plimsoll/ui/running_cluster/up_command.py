"""Finds the `plimsoll up` of a directory, and asks it to stop.

The lock of the directory names its process; a process counts only while it has that file open. So
a number that an earlier command left behind, and another program has by now, is never taken for it.
"""

import contextlib
import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from plimsoll.ui.local_cluster.directory_lock import COMMAND_LOCK

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class UpCommand:
    """The command that keeps a cluster up."""

    pid: int
    descriptor: int
    """Of the process itself: another process that gets its number is never meant."""

    def ask_to_stop(self) -> None:
        """Raises PermissionError. A process that has ended meanwhile has stopped."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.descriptor, signal.SIGTERM)

    def has_ended_within(self, limit: timedelta) -> bool:
        ended = select.poll()
        ended.register(self.descriptor, select.POLLIN)
        return bool(ended.poll(limit.total_seconds() * 1000))


@contextmanager
def found_up_command(directory: Path) -> Iterator[UpCommand | None]:
    """None if no command keeps a cluster in this directory up."""
    lock = directory / COMMAND_LOCK
    descriptor = pid = None
    with contextlib.suppress(OSError, ValueError):
        pid = int(lock.read_text())
        descriptor = os.pidfd_open(pid)
    try:
        if pid is None or descriptor is None or not _has_open(pid, lock):
            yield None
        else:
            yield UpCommand(pid, descriptor)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _has_open(pid: int, path: Path) -> bool:
    with contextlib.suppress(OSError):
        return any(_is_same(link, path) for link in (PROC / str(pid) / "fd").iterdir())
    return False


def _is_same(link: Path, path: Path) -> bool:
    with contextlib.suppress(OSError):
        return link.samefile(path)
    return False
