"""What is mounted where, as the kernel tells it in `/proc/self/mountinfo`.

The driver and the node process both read this list. It describes the mount namespace in which a
process runs, and nothing here knows what a volume is: therefore it belongs to `runtime`.
Each call reads the list anew, because other processes mount and unmount at any time.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")
MOUNT_POINT = 4
ESCAPED = re.compile(r"\\([0-7]{3})")
SEPARATOR = "-"


@dataclass(frozen=True, slots=True)
class MountContent:
    """What is seen at a mount point; two mount points of the same content show the same files."""

    device: str
    """The number of the file system, `8:1`."""
    root: str
    """The place in that file system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountEntry:
    path: Path
    content: MountContent
    fs_type: str
    source: str
    """What was mounted: the path of a device, or a name without a meaning."""
    is_read_only: bool
    options: frozenset[str]


def read_mounts() -> tuple[MountEntry, ...]:
    """In the order in which they were made: a later one hides an earlier one at the same path."""
    return parse_mounts(_read())


def read_mount_points() -> frozenset[str]:
    """Every path on which something is mounted."""
    return parse_mount_points(_read())


def _read() -> str:
    """Not as text: a path may contain what Python takes for the end of a line."""
    return MOUNTINFO.read_bytes().decode(errors="surrogateescape")


def parse_mounts(text: str) -> tuple[MountEntry, ...]:
    return tuple(_parsed(fields) for fields in _lines(text))


def parse_mount_points(text: str) -> frozenset[str]:
    return frozenset(fields[MOUNT_POINT] for fields in _lines(text))


def _lines(text: str) -> Iterator[list[str]]:
    """The fields of each line. Only a line feed ends a line: the kernel escapes it in paths."""
    for line in filter(None, text.split("\n")):
        yield [_unescaped(field) for field in line.split(" ")]


def _parsed(fields: Sequence[str]) -> MountEntry:
    """A line has six fields, any number of optional ones, a dash, and three more."""
    _, _, device, root, path, options = fields[:6]
    fs_type, source, super_options = fields[fields.index(SEPARATOR, 6) + 1 :][:3]
    both = frozenset(options.split(",")) | frozenset(super_options.split(","))
    return MountEntry(
        path=Path(path),
        content=MountContent(device, root),
        fs_type=fs_type,
        source=source,
        is_read_only="ro" in both,
        options=both,
    )


def _unescaped(field: str) -> str:
    """The kernel writes blanks, tabs, line feeds and backslashes as octal numbers."""
    return ESCAPED.sub(lambda found: chr(int(found.group(1), 8)), field)


def find_mount(mounts: Sequence[MountEntry], path: Path) -> MountEntry | None:
    """What is mounted exactly there: the uppermost, when there are several."""
    return next((mount for mount in reversed(mounts) if mount.path == path), None)


def mounts_below(root: Path, points: frozenset[str]) -> list[str]:
    """The mount points at or below a path, sorted."""
    inside = f"{root}/"
    return sorted(point for point in points if point == str(root) or point.startswith(inside))


def mount_above(mounts: Sequence[MountEntry], path: Path) -> MountEntry:
    """What the path lies on. The path is absolute and without links."""
    return max(
        (m for m in mounts if path.is_relative_to(m.path)),
        # Of several at one path the last one counts, and max() keeps the first.
        key=lambda mount: (len(mount.path.parts), mounts.index(mount)),
    )


def content_at(mounts: Sequence[MountEntry], path: Path) -> MountContent:
    """What a bind mount of that path would show. The path is absolute and without links."""
    covering = mount_above(mounts, path)
    below = path.relative_to(covering.path)
    return MountContent(covering.content.device, str(Path(covering.content.root) / below))
