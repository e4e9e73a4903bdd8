"""Gives the files of a volume to a group, so that containers of that group can use them.

Every file becomes readable and writable for the group, directories also searchable, and new files
inherit the group. Links are given, but not followed. Device nodes are left alone: their mode guards
a device of the machine.

Other containers may use the volume at the same time, and replace what was just looked at by a link
to a file of this machine. So nothing is changed by its path: each entry is opened without following
links, looked at and changed through that descriptor, and reached from the descriptor of its
directory. The way back up is checked: a directory that was moved elsewhere meanwhile ends the walk
with an error, and the caller tries again.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from plimsoll.processes.node.directory.protocol import FileGroup

READ_WRITE = 0o660
SEARCH = 0o110
OF_A_DIRECTORY = READ_WRITE | SEARCH | stat.S_ISGID
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
ONLY_A_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
"""Opens anything, links included, without any effect on it."""


def give_files(root: Path, group: FileGroup) -> None:
    """Raises OSError."""
    with _opened(root) as handle:
        if not (group.only_roots and _is_given(handle, group.id)):
            _Walk(handle, group.id).run()


@contextmanager
def _opened(root: Path) -> Iterator[int]:
    handle = os.open(root, DIRECTORY | os.O_NOFOLLOW)
    try:
        yield handle
    finally:
        os.close(handle)


def _is_given(root: int, group: int) -> bool:
    found = os.fstat(root)
    return found.st_gid == group and found.st_mode & OF_A_DIRECTORY == OF_A_DIRECTORY


@dataclass(frozen=True, slots=True)
class _Level:
    """A directory on the way down: what is left of it, and which one it is."""

    names: list[str]
    identity: tuple[int, int]


class _Walk:
    """Through a tree of any depth with one descriptor. Directories are changed after their content:
    the root, which is last, says that everything below it is done."""

    def __init__(self, root: int, group: int) -> None:
        self._group = group
        self._here = os.dup(root)
        self._levels = [_level(self._here)]

    def run(self) -> None:
        try:
            while self._levels:
                self._step()
        finally:
            os.close(self._here)

    def _step(self) -> None:
        names = self._levels[-1].names
        if names:
            self._enter(names.pop())
            return
        _change(self._here, os.fstat(self._here), self._group)
        self._levels.pop()
        if self._levels:
            self._go_up()

    def _enter(self, name: str) -> None:
        try:
            entry = os.open(name, ONLY_A_HANDLE, dir_fd=self._here)
        except FileNotFoundError:
            return  # a container removed it meanwhile
        try:
            found = os.fstat(entry)
            if stat.S_ISDIR(found.st_mode):
                self._move(os.open(".", DIRECTORY, dir_fd=entry))
                self._levels.append(_level(self._here))
            elif stat.S_ISLNK(found.st_mode):
                _give_link(name, self._here, self._group)
            elif not (stat.S_ISBLK(found.st_mode) or stat.S_ISCHR(found.st_mode)):
                _change(entry, found, self._group)
        finally:
            os.close(entry)

    def _go_up(self) -> None:
        self._move(os.open("..", DIRECTORY, dir_fd=self._here))
        if _identity(self._here) != self._levels[-1].identity:
            raise OSError(errno.ESTALE, "a directory was moved while its files were given")

    def _move(self, handle: int) -> None:
        os.close(self._here)
        self._here = handle


def _level(handle: int) -> _Level:
    # The list is taken from the end: names come in their order.
    return _Level(sorted(os.listdir(handle), reverse=True), _identity(handle))


def _identity(handle: int) -> tuple[int, int]:
    found = os.fstat(handle)
    return found.st_dev, found.st_ino


def _give_link(name: str, directory: int, group: int) -> None:
    try:
        os.chown(name, -1, group, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return  # a container removed it meanwhile


def _change(handle: int, found: os.stat_result, group: int) -> None:
    """What the handle is open on, whatever has its name by now."""
    wanted = OF_A_DIRECTORY if stat.S_ISDIR(found.st_mode) else READ_WRITE
    mode = stat.S_IMODE(found.st_mode) | wanted
    # A handle that was opened only to name a file takes no fchmod(): the kernel's own link to it
    # leads to the same file, and to no other.
    path = f"/proc/self/fd/{handle}"
    os.chown(path, -1, group)
    # Also where nothing is missing: the kernel takes bits away when the group changes.
    os.chmod(path, mode)  # noqa: PTH101 - bare strings: there can be millions
