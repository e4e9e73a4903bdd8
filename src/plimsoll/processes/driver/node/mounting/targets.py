"""The paths that volumes are shown at: made before, removed after.

What is there already and is not ours is neither hidden nor removed.
"""

from datetime import timedelta
from pathlib import Path

from plimsoll.processes.driver.settings import Mounts
from plimsoll.runtime.deadlines import in_thread_within

LOOKED_WITHIN = timedelta(seconds=10)


class TargetTakenError(Exception):
    """The path holds something that is not ours: it is neither hidden nor removed."""


def real(path: Path) -> Path:
    """As the kernel spells it; the last part may be a link of ours and is left alone."""
    return path.parent.resolve() / path.name


def make_directory(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)


async def make_mount_point(shown: Path, target: Path) -> None:
    """Something of the same kind must be there to mount on. Raises TimeoutError if what is to be
    shown does not answer: it may be in storage that is gone."""
    if await in_thread_within(LOOKED_WITHIN, shown.is_dir, OSError):
        make_directory(target)
    else:
        _make_file(target)


def _make_file(path: Path) -> None:
    make_directory(path.parent)
    path.touch()


def check_free(target: Path, kind: Mounts) -> None:
    """Before something is mounted. Raises TargetTakenError.

    mount(8) follows a link, and we would look for our mount where the link is. Files in a directory
    would be hidden.
    """
    if kind is not Mounts.REAL:
        return
    if target.is_symlink():
        raise TargetTakenError(f"{target} is a symbolic link; remove it, nothing is mounted there")
    if target.is_dir() and any(target.iterdir()):
        raise TargetTakenError(f"{target} has files in it, which a mount would hide; move them")


def entries(directory: Path) -> list[Path]:
    return sorted(directory.iterdir()) if directory.exists() else []


def clear(target: Path) -> None:
    """Remove what was mounted on, or linked. What has content is not ours, and stays.

    Harmless when there is nothing. Raises OSError for a directory, TargetTakenError for a file.
    """
    if target.is_symlink():
        target.unlink()
    elif target.is_dir():
        target.rmdir()
    elif target.exists():
        if not target.is_file() or target.stat().st_size:
            raise TargetTakenError(f"{target} is no empty file, as volumes are mounted on; move it")
        target.unlink()
