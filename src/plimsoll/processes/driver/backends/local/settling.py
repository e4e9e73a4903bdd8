"""Loop devices that were left by the last run: detached, unless a pod uses them.

A device whose volume has no record is unmounted everywhere. Its file is kept and named in the log:
records can be lost, and data must not be lost with them.
"""

import logging
from datetime import timedelta
from pathlib import Path

from plimsoll.processes.driver.backends.local.disks import UNFINISHED, Disks
from plimsoll.processes.driver.backends.local.files import discard
from plimsoll.processes.driver.node import filesystems, loop_devices
from plimsoll.processes.driver.node.mounting.device_mounts import file_systems_of, mounts_of
from plimsoll.runtime.commands import CommandError, run
from plimsoll.runtime.files.mountinfo import MountEntry, read_mounts

log = logging.getLogger(__name__)

WITHIN = timedelta(minutes=1)


async def settle_device(device: Path, file: Path, fs_type: str | None) -> None:
    """`fs_type` is what the volume has, None when there is no record of it."""
    shown = mounts_of((device,), read_mounts())
    if fs_type is None:
        log.warning("device of an unknown volume let go", extra={"file": str(file)})
        for mount in reversed(shown):
            await _unmount(mount)
        shown = mounts_of((device,), read_mounts())
    for mount in file_systems_of((device,), shown):
        # The last run may have died while it held the file system still.
        if await filesystems.thaw(mount.path):
            log.warning("file system thawed", extra={"path": str(mount.path)})
    if not shown:
        await filesystems.forget(fs_type or "", (device,))
        await loop_devices.detach(file)


async def _unmount(mount: MountEntry) -> None:
    try:
        await run(["umount", mount.path], within=WITHIN)
    except CommandError as error:
        facts = {"path": str(mount.path), "error": str(error)}
        log.warning("mount of an unknown volume kept", extra=facts)


async def settle_entries(disks: Disks, known: frozenset[Path]) -> None:
    """What was being made is cleared away; anything else without a record stays where it is."""
    for entry in disks.entries():
        if entry.name.endswith(UNFINISHED):
            await loop_devices.detach(entry)
            await discard(entry)
        elif entry not in known:
            log.warning("volume without a record kept", extra={"path": str(entry)})
