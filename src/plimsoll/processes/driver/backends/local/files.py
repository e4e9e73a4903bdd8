"""Files and directories that are there whole or not at all, even after a loss of power.

Each is made under a temporary name and gets its own when it is complete and on disk.
"""

import asyncio
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from plimsoll.processes.driver.backends.local.disks import UNFINISHED
from plimsoll.processes.driver.backends.local.sparse_copies import copy_data
from plimsoll.runtime.commands import CommandError, run
from plimsoll.runtime.files.durable_files import sync_directory
from plimsoll.wire.csi.refusals import internal, resource_exhausted

COPY_AT_LEAST = timedelta(minutes=5)
SLOWEST_BYTES_A_SECOND = 10_000_000
REMOVING = timedelta(hours=1)
SECTOR = 512
"""In which the kernel counts what a file takes."""
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
FULL_TEXT = os.strerror(errno.ENOSPC)


@contextmanager
def refusals(what: str) -> Iterator[None]:
    """What fails here becomes an answer that names the volume or snapshot."""
    try:
        yield
    except CommandError as error:
        refuse = resource_exhausted if FULL_TEXT in error.stderr else internal
        raise refuse(f"{what}: {error}") from error
    except OSError as error:
        refuse = resource_exhausted if error.errno in FULL else internal
        raise refuse(f"{what}: {error.filename or 'disk'}: {error.strerror}") from error


def unfinished(path: Path) -> Path:
    return path.with_name(path.name + UNFINISHED)


async def reserve(path: Path, size_bytes: int) -> None:
    """A file that has all of its blocks from the first moment."""
    await asyncio.to_thread(_reserve, path, size_bytes)


def _reserve(path: Path, size_bytes: int) -> None:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        found = os.fstat(file)
        is_whole = found.st_blocks * SECTOR >= found.st_size
        # Some file systems want new blocks even for a range that has its blocks already.
        start = found.st_size if is_whole else 0
        if start < size_bytes:
            os.posix_fallocate(file, start, size_bytes - start)
        os.fsync(file)
    finally:
        os.close(file)


async def enlarge(path: Path, size_bytes: int) -> None:
    """If the disk is full, the file stays as it was."""
    await asyncio.to_thread(_enlarge, path, size_bytes)


def _enlarge(path: Path, size_bytes: int) -> None:
    before = path.stat().st_size
    try:
        _reserve(path, max(before, size_bytes))
    except OSError:
        os.truncate(path, before)
        raise


async def copy_file(source: Path, target: Path, size_bytes: int) -> None:
    """Into a new file that has its blocks already, so that the disk cannot fill up half-way.

    The cost is that of the data in the source. Blocks that are shared with it count as promised but
    not written (`disk_space`), so that each file can have its own when it is written to.
    """
    reserved = await asyncio.to_thread(os.path.getsize, target)
    await copy_data(source, target, within=_time_to_copy(size_bytes))
    await reserve(target, reserved)


async def copy_tree(source: Path, target: Path, size_bytes: int) -> None:
    """The content of a directory, with owners, times, links and attributes."""
    within = _time_to_copy(size_bytes)
    await run(["cp", "--archive", "--reflink=never", f"{source}/.", target], within=within)
    await run(["sync", "--file-system", target], within=within)


def _time_to_copy(size_bytes: int) -> timedelta:
    return COPY_AT_LEAST + timedelta(seconds=size_bytes / SLOWEST_BYTES_A_SECOND)


def finish(path: Path) -> None:
    """Give it its name, for good."""
    unfinished(path).rename(path)
    sync_directory(path.parent)


async def discard(path: Path) -> None:
    """Finished or not; harmless when there is none."""
    for entry in (unfinished(path), path):
        await remove_tree(entry)
    await asyncio.to_thread(_sync_if_there, path.parent)


async def remove_tree(path: Path) -> None:
    """A file or a directory, however deep pods have made it. Harmless when there is none."""
    await run(["rm", "--recursive", "--force", "--one-file-system", "--", path], within=REMOVING)


def _sync_if_there(directory: Path) -> None:
    if directory.is_dir():
        sync_directory(directory)
