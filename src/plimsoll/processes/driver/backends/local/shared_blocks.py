"""Blocks that several files have in common, as the file system counts them (FIEMAP).

Each of the files counts such a block as its own, and the disk has it once. A write to one of the
files needs another block, so what is promised for all but one of them is not written yet.
"""

import fcntl
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

FS_IOC_FIEMAP = 0xC020660B
HEADER = struct.Struct("=QQIIII")
EXTENT = struct.Struct("=QQQQQIIII")
AT_ONCE = 400
LAST, SHARED = 0x1, 0x2000
ALL = 2**64 - 1
SHARING = frozenset({"btrfs", "xfs"})
"""File systems that can do this; others are not asked."""

Range = tuple[int, int]


def counted_twice(files: Iterable[Path]) -> int:
    """How many bytes the files say that they take beyond what the disk has given for them."""
    ranges = sorted(found for file in files for found in shared_ranges(file))
    return sum(end - start for start, end in ranges) - covered(ranges)


def covered(ranges: Iterable[Range]) -> int:
    """The length of their union; they come sorted."""
    total = reached = 0
    for start, end in ranges:
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def shared_ranges(file: Path) -> list[Range]:
    """On the disk, from and up to; none where there is no such file. Raises OSError."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    try:
        return [
            (physical, physical + length)
            for _, physical, length, flags in _extents(handle)
            if flags & SHARED
        ]
    finally:
        os.close(handle)


def _extents(handle: int) -> Iterator[tuple[int, int, int, int]]:
    """Their place in the file and on the disk, length, and flags."""
    start = 0
    while True:
        request = bytearray(HEADER.size + AT_ONCE * EXTENT.size)
        HEADER.pack_into(request, 0, start, ALL - start, 0, 0, AT_ONCE, 0)
        fcntl.ioctl(handle, FS_IOC_FIEMAP, request)
        mapped = HEADER.unpack_from(request)[3]
        flags = LAST
        for number in range(mapped):
            logical, physical, length, _, _, flags, *_ = EXTENT.unpack_from(
                request, HEADER.size + number * EXTENT.size
            )
            yield logical, physical, length, flags
            start = logical + length
        if flags & LAST:
            return
