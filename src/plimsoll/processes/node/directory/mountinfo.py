"""What is mounted, as the kernel tells it."""

import re
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")
MOUNT_POINT = 4
OCTAL = re.compile(rb"\\([0-7]{3})")


def mount_points(mountinfo: Path = MOUNTINFO) -> frozenset[str]:
    """Every path on which something is mounted."""
    lines = mountinfo.read_bytes().splitlines()
    return frozenset(_unescaped(line.split(b" ")[MOUNT_POINT]) for line in lines if line)


def _unescaped(raw: bytes) -> str:
    """Blanks and the like are written as octal numbers."""
    return OCTAL.sub(lambda found: bytes([int(found[1], 8)]), raw).decode(errors="surrogateescape")


def mounts_below(root: Path, points: frozenset[str]) -> list[str]:
    inside = f"{root}/"
    return sorted(point for point in points if point == str(root) or point.startswith(inside))
