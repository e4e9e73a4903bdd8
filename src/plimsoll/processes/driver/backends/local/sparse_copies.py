"""Copies of files that cost what lies in them, not what they could hold.

Where the file system can share blocks between files (reflinks: xfs, btrfs), a copy shares them with
its origin until either is written to. Elsewhere the ranges that hold data are copied, and the rest
is left as it is in the target, which must read as zeroes there. The copy is on disk when this
returns. A copy that is cancelled or takes too long has stopped when its caller hears of that:
nothing writes to the target behind its back.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

FICLONE = 0x40049409
"""The request of ioctl_ficlone(2)."""
CANNOT_SHARE = frozenset(
    {errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EPERM}
)
AT_ONCE = 8 << 20
"""So much is copied between two looks at whether to go on."""


async def copy_data(source: Path, target: Path, *, within: timedelta) -> None:
    """Into a file that is there, reads as zeroes, and is no shorter. Raises OSError.

    A shared copy has the length of its origin and no blocks of its own: reserve them again.
    """
    given_up = threading.Event()
    copying = asyncio.ensure_future(asyncio.to_thread(_copied, source, target, given_up))
    try:
        async with asyncio.timeout(within.total_seconds()):
            await asyncio.shield(copying)
    except TimeoutError as error:
        raise OSError(errno.ETIMEDOUT, "copying took too long", str(target)) from error
    finally:
        given_up.set()
        with contextlib.suppress(OSError):
            await copying


def _copied(source: Path, target: Path, given_up: threading.Event) -> None:
    origin = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        copy = os.open(target, os.O_RDWR | os.O_CLOEXEC)
        try:
            if not share_blocks(origin, copy):
                _copy_ranges(origin, copy, given_up)
            os.fsync(copy)
        finally:
            os.close(copy)
    finally:
        os.close(origin)


def share_blocks(origin: int, copy: int) -> bool:
    """Whether the file system can, and did."""
    try:
        fcntl.ioctl(copy, FICLONE, origin)
    except OSError as error:
        if error.errno not in CANNOT_SHARE:
            raise
        return False
    return True


def _copy_ranges(origin: int, copy: int, given_up: threading.Event) -> None:
    for start, end in data_ranges(origin):
        place = os.lseek(copy, start, os.SEEK_SET)
        while place < end:
            if given_up.is_set():
                raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED))
            sent = os.sendfile(copy, origin, place, min(AT_ONCE, end - place))
            if not sent:
                return  # the origin became shorter: what was there is copied
            place += sent


def data_ranges(file: int) -> Iterator[tuple[int, int]]:
    """Where a file holds data, from and up to; all of it where the file system does not tell."""
    end = 0
    while True:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole up to the end
                return
            raise
        end = os.lseek(file, start, os.SEEK_HOLE)
        yield start, end
