"""File systems on block devices: recognised, made, checked and grown.

`staging` decides whether to make one: it knows whether the device may hold data.
"""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from plimsoll.runtime.commands import CommandError, run

EXT4, XFS, BTRFS = "ext4", "xfs", "btrfs"
MEBIBYTE = 1 << 20
MINIMUM_BYTES = {EXT4: 2 * MEBIBYTE, XFS: 300 * MEBIBYTE, BTRFS: 256 * MEBIBYTE}
"""By type: what it needs on each device, to be made and to be grown later."""

# Nothing is discarded: on an image, that would give back the blocks that were set aside for it.
MAKE = {
    EXT4: ("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard"),
    XFS: ("mkfs.xfs", "-q", "-f", "-K"),
    BTRFS: ("mkfs.btrfs", "-q", "-f", "-K"),
}
MOUNT_OPTIONS = {BTRFS: ("nodiscard",)}
"""What a file system must be told lest it gives blocks back."""
WITHIN = timedelta(minutes=10)
"""Of work that is the longer the larger the volume is."""
PROBED_WITHIN = timedelta(seconds=30)
"""Of a look at the device. One whose storage is gone waits for it, and so would the caller."""
MADE_WITHIN = timedelta(minutes=2)
BLKID_FOUND_NOTHING = 2
FIRST_MEBIBYTE = ("bs=1M", "count=1", "status=none")
"""Where every file system has what it is recognised by."""
SIGNS = {EXT4: (0x438, b"\x53\xef"), XFS: (0, b"XFSB"), BTRFS: (0x10040, b"_BHRfS_M")}
"""By type: where in it what every file system of the type has."""
REPAIRED = 1
BTRFS_DEVICE = re.compile(
    r"^\s*devid\s+(\d+)\s+size\s+\d+\s+used\s+\d+\s+path\s+(.*)$", re.MULTILINE
)


class NotPermittedError(Exception):
    """The kernel does not let this process do it; says what is missing."""


async def content_of(device: Path) -> str:
    """The type of the file system on it; empty when there is nothing at all.

    Anything else that can be recognised, such as a partition table, has its own name. Raises
    CommandError for a device whose beginning cannot be read. blkid takes a device for empty of
    which it cannot read any part, be it the end: then what was read tells.
    """
    beginning = await _read_beginning(device)
    try:
        found = await run(["blkid", "--probe", "--output", "export", device], within=PROBED_WITHIN)
    except CommandError as error:
        if error.code == BLKID_FOUND_NOTHING:
            return _recognised(beginning)
        raise
    facts = dict(line.split("=", 1) for line in found.stdout.splitlines() if "=" in line)
    return facts.get("TYPE") or facts.get("PTTYPE") or "something unknown"


async def _read_beginning(device: Path) -> bytes:
    """By a process that can be killed: storage that is gone may never answer."""
    with TemporaryDirectory() as directory:
        copy = Path(directory, "beginning")
        await run(["dd", f"if={device}", f"of={copy}", *FIRST_MEBIBYTE], within=PROBED_WITHIN)
        return await asyncio.to_thread(copy.read_bytes)


def _recognised(beginning: bytes) -> str:
    """Empty: it is the beginning of no file system that is made here."""
    signs = SIGNS.items()
    return next((kind for kind, (at, sign) in signs if beginning.startswith(sign, at)), "")


async def make(fs_type: str, devices: Sequence[Path], options: Sequence[str] = ()) -> None:
    """Whatever is on the devices is gone afterwards."""
    await run([*MAKE[fs_type], *options, *devices], within=MADE_WITHIN)


async def check(fs_type: str, device: Path) -> None:
    """Before mounting. Repairs what can be repaired without losing anything."""
    # The others replay their journals when they are mounted, and check as they read.
    if fs_type == EXT4:
        await check_ext4(device)


async def check_ext4(device: Path, *options: str) -> None:
    """`-f`: even if it says of itself that it is in order."""
    try:
        await run(["e2fsck", "-p", *options, device], within=WITHIN)
    except CommandError as error:
        if error.code != REPAIRED:
            raise


async def grow_unmounted(fs_type: str, device: Path) -> None:
    """Fill the device, where that can be done before mounting."""
    if fs_type == EXT4:
        await check_ext4(device, "-f")
        await run(["resize2fs", device], within=WITHIN)


async def grow_mounted(fs_type: str, devices: Sequence[Path], path: Path) -> None:
    """Fill the devices while in use; does nothing when they are full already.

    Raises NotPermittedError.
    """
    match fs_type:
        case "ext4":
            await _grow_ext4(devices[0])
        case "xfs":
            await run(["xfs_growfs", "-d", path], within=WITHIN)
        case "btrfs":
            await _grow_btrfs(path)
        case _:
            raise NotPermittedError(f"a {fs_type} file system cannot be grown")


async def _grow_ext4(device: Path) -> None:
    try:
        await run(["resize2fs", device], within=WITHIN)
    except CommandError as error:
        if "Permission denied to resize" in error.stderr:
            missing = "growing ext4 while it is mounted needs the capability CAP_SYS_RESOURCE"
            raise NotPermittedError(missing) from error
        raise


async def _grow_btrfs(path: Path) -> None:
    shown = await run(["btrfs", "filesystem", "show", "--raw", path], within=WITHIN)
    for number, device in BTRFS_DEVICE.findall(shown.stdout):
        if "MISSING" not in device:
            await run(["btrfs", "filesystem", "resize", f"{number}:max", path], within=WITHIN)


async def forget(fs_type: str, devices: Sequence[Path]) -> None:
    """Before devices are detached: btrfs remembers all it has seen, by name."""
    for device in devices if fs_type == BTRFS else ():
        # What it has never seen, it cannot forget.
        with suppress(CommandError):
            await run(["btrfs", "device", "scan", "--forget", device], within=WITHIN)


async def freeze(path: Path) -> None:
    """Everything written is on the device, and writers wait, until `thaw`."""
    await run(["fsfreeze", "--freeze", path], within=WITHIN)


async def thaw(path: Path) -> bool:
    """Whether it was frozen."""
    try:
        await run(["fsfreeze", "--unfreeze", path], within=WITHIN)
    except CommandError as error:
        if error.code is None:
            raise
        return False
    return True
