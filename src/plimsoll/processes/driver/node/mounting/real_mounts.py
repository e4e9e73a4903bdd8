"""Volumes as real mounts; needs root.

Mounts are made with mount(8) rather than the system call: it knows which options are the file
system's and which are the mount's, it explains a failure, and it can be killed when it hangs.
"""

import hashlib
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from plimsoll.processes.driver.backends.protocol import DeviceSource, DirectorySource, Source
from plimsoll.processes.driver.node.mounting.device_mounts import mounts_of
from plimsoll.processes.driver.node.mounting.mounted_targets import MountedTargets
from plimsoll.processes.driver.node.mounting.protocol import Shown
from plimsoll.processes.driver.node.mounting.targets import (
    clear,
    make_directory,
    make_mount_point,
    real,
)
from plimsoll.processes.driver.settings import Mounts
from plimsoll.runtime.commands import run
from plimsoll.runtime.files.mountinfo import MountEntry, content_at, find_mount, read_mounts

WITHIN = timedelta(minutes=1)
PRIVATE = "mounting"


class RealMounts:
    kind = Mounts.REAL

    def __init__(self, state_dir: Path) -> None:
        self._private = state_dir / PRIVATE
        self._targets = MountedTargets(state_dir)

    def find(self, path: Path) -> Shown | None:
        found = find_mount(read_mounts(), real(path))
        return None if found is None else _shown(found)

    def places(self, source: Source) -> Sequence[Shown]:
        mounts = read_mounts()
        if isinstance(source, DirectorySource):
            directory = real(source.path)
            content = content_at(mounts, directory)
            found = [m for m in mounts if m.content == content and m.path != directory]
        else:
            found = mounts_of(source.devices, mounts)
        others = self._targets.of_others()
        return tuple(_shown(mount) for mount in found if mount.path not in others)

    async def mount(self, source: DeviceSource, target: Path, options: Sequence[str]) -> None:
        make_directory(target)
        self._targets.note(real(target))
        # All members are named: the kernel may not have been told of them before.
        members = [f"device={device}" for device in source.devices[1:]]
        wanted = ",".join(["defaults", *source.mount_options, *members, *options])
        device = source.devices[0]
        await run(["mount", "-t", source.fs_type, "-o", wanted, device, target], within=WITHIN)

    async def bind(
        self, shown: Path, target: Path, *, read_only: bool = False, options: Sequence[str] = ()
    ) -> None:
        wanted = [*options, "ro"] if read_only else list(options)
        await make_mount_point(shown, target)
        self._targets.note(real(target))
        if not wanted:
            await run(["mount", "--bind", shown, target], within=WITHIN)
            return
        # Options come in a second step, at a private path; a bind mount of that one has them from
        # its first moment. So after a crash in between, no pod sees the volume without them.
        private = self._private / hashlib.sha256(os.fsencode(target)).hexdigest()[:32]
        await unmount(private)
        await make_mount_point(shown, private)
        try:
            await run(["mount", "--bind", shown, private], within=WITHIN)
            remount = ",".join(["remount", "bind", *wanted])
            await run(["mount", "-o", remount, private], within=WITHIN)
            await run(["mount", "--bind", private, target], within=WITHIN)
        finally:
            await unmount(private)

    async def set_writable(self, target: Path, *, writable: bool) -> None:
        """Fails while a program has a file open for writing there."""
        wanted = "rw" if writable else "ro"
        await run(["mount", "-o", f"remount,bind,{wanted}", real(target)], within=WITHIN)

    async def unmount(self, target: Path) -> None:
        await take_away(target)
        self._targets.forget(real(target))


async def take_away(target: Path) -> None:
    """Whatever is mounted there: a crash may have left several, one over the other.

    The path is as the kernel spells it, so umount(8) need not look at what is mounted, which would
    wait for storage that does not answer.
    """
    while find_mount(read_mounts(), real(target)) is not None:
        await run(["umount", "--no-canonicalize", real(target)], within=WITHIN)


async def unmount(target: Path) -> None:
    """With what it was mounted on. Harmless when there is nothing."""
    await take_away(target)
    clear(target)


def _shown(mount: MountEntry) -> Shown:
    return Shown(
        path=mount.path,
        content=mount.content,
        fs_type=mount.fs_type,
        is_read_only=mount.is_read_only,
    )
