"""A new identity for a copied btrfs file system.

The kernel knows a btrfs file system by its id alone: a copy that still has the id of its origin
must never be seen by it. The tool for changing ids looks for all members of the file system among
all devices of the machine, and would find those of the origin. So the ids are changed in the files,
before they are attached to anything.

btrfs has a feature for this: the id that it is known by may differ from the one that is written
into all of its blocks, which is then kept beside it. Only the superblocks change.
"""

import struct
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

SUPERBLOCKS = (64 << 10, 64 << 20, 256 << 30)
SIZE = 4096
MAGIC = b"_BHRfS_M"
CHECKSUM = slice(0, 32)
CHECKED = slice(32, SIZE)
ID = slice(32, 48)
MAGIC_AT = slice(64, 72)
INCOMPATIBLE_AT = 188
CHECKSUM_TYPE_AT = 196
CRC32C = 0
METADATA_ID = slice(571, 587)
HAS_METADATA_ID = 1 << 10


def renew_identity(images: Sequence[Path], identity: UUID) -> None:
    """All members of one file system, none of them attached. Raises ValueError for anything else
    than a btrfs file system."""
    for image in images:
        with image.open("r+b", buffering=0) as file:
            end = image.stat().st_size
            for offset in (place for place in SUPERBLOCKS if place + SIZE <= end):
                file.seek(offset)
                block = bytearray(file.read(SIZE))
                if block[MAGIC_AT] != MAGIC:
                    if offset == SUPERBLOCKS[0]:
                        raise ValueError(f"{image}: is no btrfs file system")
                    continue
                file.seek(offset)
                file.write(_renewed(block, identity))


def _renewed(block: bytearray, identity: UUID) -> bytes:
    (kind,) = struct.unpack_from("<H", block, CHECKSUM_TYPE_AT)
    if kind != CRC32C:
        raise ValueError("the file system has checksums of another kind")
    (features,) = struct.unpack_from("<Q", block, INCOMPATIBLE_AT)
    if not features & HAS_METADATA_ID:
        block[METADATA_ID] = block[ID]
        struct.pack_into("<Q", block, INCOMPATIBLE_AT, features | HAS_METADATA_ID)
    block[ID] = identity.bytes
    block[CHECKSUM] = struct.pack("<I", crc32c(block[CHECKED])) + bytes(28)
    return bytes(block)


def _table() -> tuple[int, ...]:
    polynomial = 0x82F63B78
    entries: list[int] = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (polynomial if value & 1 else 0)  # noqa: PLW2901 - shifted out bit by bit
        entries.append(value)
    return tuple(entries)


TABLE = _table()


def crc32c(data: bytes | bytearray) -> int:
    """Castagnoli's; slow, for the few kilobytes there are."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
