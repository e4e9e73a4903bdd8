"""Removes directories of volumes, never through a mount and never with content."""

import contextlib
from pathlib import Path

from plimsoll.processes.node.directory.protocol import DirectoryError
from plimsoll.processes.node.directory.volume_data import DRAFT, names
from plimsoll.runtime.files.mountinfo import read_mount_points


def remove_target(path: Path) -> None:
    """What a driver may have left of its path. What is mounted, or has content, stays."""
    if str(path) in read_mount_points():
        raise DirectoryError(f"{path} is still mounted, although the driver has undone it")
    with contextlib.suppress(FileNotFoundError):
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()


def remove_empty(directory: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        for name in names(directory):
            if name == DRAFT:
                (directory / name).unlink()
        with contextlib.suppress(OSError):
            directory.rmdir()


def remove_empty_tree(directory: Path) -> None:
    """Empty directories from the bottom up; anything else stays and is an error."""
    for name in names(directory):
        path = directory / name
        if path.is_dir() and not path.is_symlink():
            remove_empty_tree(path)
        elif name == DRAFT:
            path.unlink()
    directory.rmdir()
