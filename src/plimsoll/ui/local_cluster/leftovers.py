"""Mounts and loop devices under a directory that is to be removed.

A cluster that was ended in the middle leaves its volumes mounted, for its next life. Where there
is to be none, they are released first: else the directory could not be removed, or worse, what is
mounted into it would be.
"""

import shutil
import subprocess
from pathlib import Path

from plimsoll.processes.driver.node.loop_devices import loops
from plimsoll.runtime.commands import search_path

MOUNTS = Path("/proc/self/mounts")
SECONDS = 30


def release(directory: Path) -> None:
    """Nothing to do for those who are not root: they have nothing mounted.

    `directory` is without symbolic links, as the kernel writes paths.
    """
    for path in reversed(mounted_under(directory, MOUNTS.read_text())):
        _run("umount", path)
    for device, file in loops().items():
        if directory in file.parents:
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


def _run(program: str, *arguments: str | Path) -> None:
    found = shutil.which(program, path=search_path()) or program
    subprocess.run(  # noqa: S603 - fixed programs, no shell
        (found, *arguments), capture_output=True, timeout=SECONDS, check=False
    )
