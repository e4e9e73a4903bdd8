"""Volume ids as ceph-csi composes them, so that either driver finds the volumes of the other.

An id is `<version>-<length of the cluster id>-<cluster id>-<pool id>-<uuid>`: version and length
have four hexadecimal digits, the pool id has sixteen. The length is of bytes.
"""

import re
from dataclasses import dataclass

VERSION = 1
UUID_BYTES = 36
KNOWN_BYTES = 64
"""Everything but the id of the cluster."""
LONGEST_BYTES = 128
"""The longest id that CSI allows."""

POOL_ID_DIGITS = 16
HEXADECIMAL = re.compile(r"(?:[0-9a-fA-F]{2})*")
WRAP = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class CephVolumeId:
    cluster_id: str
    pool_id: int
    """Of the pool of the image; of the file system for CephFS."""
    uuid: str
    version: int = VERSION


def pool_id_digits(pool_id: int) -> str:
    """Sixteen hexadecimal digits; negative ids in two's complement."""
    return f"{pool_id % WRAP:0{POOL_ID_DIGITS}x}"


def parse_pool_id(text: str) -> int:
    """Raises ValueError. Digits beyond the sixteenth are ignored, as ceph-csi does."""
    if len(text) < POOL_ID_DIGITS or not HEXADECIMAL.fullmatch(text):
        raise ValueError(f"{text!r} is no id of a pool: {POOL_ID_DIGITS} hexadecimal digits are")
    number = int(text[:POOL_ID_DIGITS], 16)
    return number - WRAP if number >= WRAP // 2 else number


def compose_volume_id(volume: CephVolumeId) -> str:
    """Raises ValueError if the parts do not fit into an id."""
    length = len(volume.cluster_id.encode())
    longest = LONGEST_BYTES - KNOWN_BYTES
    if length > longest:
        raise ValueError(f"the id of the cluster has {length} bytes; at most {longest} fit")
    if len(volume.uuid.encode()) != UUID_BYTES:
        raise ValueError(f"{volume.uuid!r} is no uuid: it has not {UUID_BYTES} characters")
    return "-".join(
        (
            f"{volume.version or VERSION:04x}",
            f"{length:04x}",
            volume.cluster_id,
            pool_id_digits(volume.pool_id),
            volume.uuid,
        )
    )


def decompose_volume_id(text: str) -> CephVolumeId:
    """Raises ValueError for what no driver composed. Only lengths count, not what is between."""
    composed = text.encode()
    if len(composed) < KNOWN_BYTES:
        raise ValueError(f"{text!r} is too short for the id of a volume")
    length = _number(composed[5:9])
    if len(composed) != KNOWN_BYTES + length:
        raise ValueError(f"{text!r} is no id of a volume: its length is not the one it tells")
    pool_at = 10 + length + 1
    uuid_at = pool_at + POOL_ID_DIGITS + 1
    return CephVolumeId(
        cluster_id=composed[10 : 10 + length].decode(),
        pool_id=parse_pool_id(composed[pool_at : pool_at + POOL_ID_DIGITS].decode()),
        uuid=composed[uuid_at:].decode(),
        version=_number(composed[:4]),
    )


def _number(digits: bytes) -> int:
    text = digits.decode()
    if not HEXADECIMAL.fullmatch(text):
        raise ValueError(f"{text!r} is no hexadecimal number")
    return int(text, 16)
