"""Mounts and loop devices under a directory that is to be removed.

A cluster that was ended in the middle leaves its volumes mounted, for its next life. Where there
is to be none, they are released first: else the directory could not be removed, or worse, what is
mounted into it would be.
"""

import subprocess
from pathlib import Path

MOUNTS = Path("/proc/self/mounts")
SECONDS = 30


def release(directory: Path) -> None:
    """Nothing to do for those who are not root: they have nothing mounted."""
    for path in reversed(mounted_under(directory, MOUNTS.read_text())):
        _run("umount", str(path))
    for line in _run(
        "losetup", "--noheadings", "--list", "--output", "NAME,BACK-FILE"
    ).splitlines():
        device, _, file = line.partition(" ")
        if file.strip().startswith(f"{directory}/"):
            _run("losetup", "--detach", device)


def mounted_under(directory: Path, mounts: str) -> list[Path]:
    """In the order in which they were mounted; `mounts` as the kernel writes it."""
    found = [Path(_spelled(line.split(" ")[1])) for line in mounts.splitlines()]
    return [path for path in found if directory in path.parents]


def _spelled(path: str) -> str:
    """The kernel writes blanks, tabs, newlines and backslashes as octal numbers."""
    for code, character in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        path = path.replace(code, character)
    return path


def _run(*command: str) -> str:
    done = subprocess.run(  # noqa: S603 - fixed programs, no shell
        command, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return done.stdout
