"""What is mounted where, as the kernel tells it in `/proc/self/mountinfo`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")
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
    return parse_mounts(MOUNTINFO.read_text(errors="surrogateescape"))


def parse_mounts(text: str) -> tuple[MountEntry, ...]:
    return tuple(_parsed(line) for line in text.splitlines())


def _parsed(line: str) -> MountEntry:
    """A line has six fields, any number of optional ones, a dash, and three more."""
    fields = [_unescaped(field) for field in line.split(" ")]
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
    return ESCAPED.sub(lambda found: chr(int(found.group(1), 8)), field)


def find_mount(mounts: Sequence[MountEntry], path: Path) -> MountEntry | None:
    """What is mounted exactly there: the uppermost, when there are several."""
    return next((mount for mount in reversed(mounts) if mount.path == path), None)


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
