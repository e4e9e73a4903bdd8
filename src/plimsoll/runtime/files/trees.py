"""Removes directories that pods have filled, however deep, and never through a link or a mount.

`shutil.rmtree` recurses in Python 3.11: a thousand nested directories cannot be removed by it.
Here one descriptor walks down and up again. The way up is checked: a directory that was moved
elsewhere meanwhile ends the removal with an error, and the caller tries again.
"""

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Identity = tuple[int, int]


def remove_tree(path: Path) -> None:
    """Of the last part of the path no link is followed. Raises OSError."""
    parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        remove_tree_at(path.name, parent)
    finally:
        os.close(parent)


def remove_tree_at(name: str, parent: int) -> None:
    """A directory by its name in an open one. Raises OSError."""
    _Removal(parent).run(name)


@dataclass(frozen=True, slots=True)
class _Level:
    """A directory on the way down: its name, which one it is, and what it still contains."""

    name: str
    identity: Identity
    directories: list[str]


class _Removal:
    def __init__(self, parent: int) -> None:
        self._here = os.dup(parent)
        self._top = _identity(parent)
        self._levels: list[_Level] = []

    def run(self, name: str) -> None:
        try:
            self._enter(name)
            while self._levels:
                self._step()
        finally:
            os.close(self._here)

    def _step(self) -> None:
        directories = self._levels[-1].directories
        if directories:
            self._enter(directories.pop())
        else:
            self._leave(self._levels.pop())

    def _enter(self, name: str) -> None:
        below = os.open(name, DIRECTORY, dir_fd=self._here)
        os.close(self._here)
        self._here = below
        identity = _identity(below)
        if identity[0] != self._top[0]:
            raise OSError(errno.EXDEV, "something is mounted there", name)
        self._levels.append(_Level(name, identity, _without_files(below)))

    def _leave(self, level: _Level) -> None:
        above = os.open("..", DIRECTORY, dir_fd=self._here)
        os.close(self._here)
        self._here = above
        expected = self._levels[-1].identity if self._levels else self._top
        if _identity(above) != expected:
            raise OSError(errno.ESTALE, "a directory was moved while it was removed", level.name)
        os.rmdir(level.name, dir_fd=above)


def _identity(handle: int) -> Identity:
    found = os.fstat(handle)
    return found.st_dev, found.st_ino


def _without_files(directory: int) -> list[str]:
    """The directories that are left when everything else is removed."""
    directories = []
    for name in os.listdir(directory):
        if stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            directories.append(name)
        else:
            os.unlink(name, dir_fd=directory)
    return directories
