"""Trees removed in bounded steps; what a step leaves the next one finds."""

from plimsoll.wire.ceph.files.interface import FileCalls

DIRECTORY = 4
"""Of `d_type`, as readdir has it."""
ALWAYS_THERE = frozenset({b".", b".."})


def remove_some(fs: FileCalls, root: bytes, most: int) -> bool:
    """Removes at most about that many entries below the root. True: there are no more."""
    removed, pending = 0, [root]
    while pending and removed < most:
        path = pending[-1]
        found = entries(fs, path, most)
        pending += [path + b"/" + name for name, kind in found if kind == DIRECTORY]
        for name, kind in found:
            if kind != DIRECTORY:
                fs.unlink(path + b"/" + name)
                removed += 1
        if not found:
            pending.pop()
            if path != root:
                fs.rmdir(path)
                removed += 1
    return not pending


def entries(fs: FileCalls, path: bytes, most: int | None = None) -> list[tuple[bytes, int]]:
    """The names in a directory, or at most so many of them, with their kinds."""
    found: list[tuple[bytes, int]] = []
    opened = fs.opendir(path)
    try:
        while len(found) != most and (entry := fs.readdir(opened)):
            if entry.d_name not in ALWAYS_THERE:
                found.append((entry.d_name, entry.d_type))
    finally:
        fs.closedir(opened)
    return found
