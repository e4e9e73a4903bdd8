"""Where a device can be seen, by the kernel's own numbers and whatever options it was mounted with.

The name under which a file system was mounted proves nothing: `mount` may have put a loop device
over the one that it was given, and one device can have several names. What counts is the number of
the device, that of every loop device above it, and, for file systems that have a number of their
own (btrfs), the device that the kernel names as their source.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from plimsoll.processes.driver.node.loop_devices import loops
from plimsoll.runtime.files.mountinfo import MountEntry, content_at


def mounts_of(devices: Iterable[Path], mounts: Sequence[MountEntry]) -> list[MountEntry]:
    """All mounts of their file systems and of the device nodes themselves, oldest first."""
    every = _with_those_above(devices)
    nodes = {content_at(mounts, device) for device in every}
    numbers = _numbers(every)
    return [m for m in mounts if m.content in nodes or _shows(m, every, numbers)]


def file_systems_of(devices: Iterable[Path], mounts: Sequence[MountEntry]) -> list[MountEntry]:
    """All mounts of the file systems on them, oldest first."""
    every = _with_those_above(devices)
    numbers = _numbers(every)
    return [mount for mount in mounts if _shows(mount, every, numbers)]


def _shows(mount: MountEntry, devices: frozenset[Path], numbers: frozenset[str]) -> bool:
    if mount.content.device in numbers:
        return True
    return mount.source.startswith("/") and Path(mount.source).resolve() in devices


def _with_those_above(devices: Iterable[Path]) -> frozenset[Path]:
    """The devices, and each loop device whose file is one of them."""
    behind = loops()
    found = {device.resolve() for device in devices}
    while above := {loop for loop, file in behind.items() if file in found} - found:
        found |= above
    return frozenset(found)


def _numbers(devices: Iterable[Path]) -> frozenset[str]:
    """As mountinfo writes them, `7:1`."""
    found: set[str] = set()
    for device in devices:
        try:
            status = device.stat()
        except FileNotFoundError:
            continue
        if stat.S_ISBLK(status.st_mode):
            found.add(f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}")
    return frozenset(found)
