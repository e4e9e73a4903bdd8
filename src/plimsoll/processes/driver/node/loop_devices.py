"""Loop devices: files that look like disks. Which there are is read from the kernel each time."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from plimsoll.runtime.commands import run

BLOCK_DEVICES = Path("/sys/block")
DEVICES = Path("/dev")
WITHIN = timedelta(seconds=30)
DELETED = " (deleted)"


def loops() -> dict[Path, Path]:
    """The file behind each device that has one."""
    found: dict[Path, Path] = {}
    for entry in sorted(BLOCK_DEVICES.glob("loop*/loop/backing_file")):
        # A device may lose its file between our looking for it and our reading of it.
        with suppress(OSError):
            file = entry.read_text(errors="surrogateescape").rstrip("\n")
            found[DEVICES / entry.parts[-3]] = Path(file.removesuffix(DELETED))
    return found


def loops_of(file: Path) -> Sequence[Path]:
    real = file.resolve()
    return tuple(device for device, behind in loops().items() if behind == real)


async def attach(file: Path) -> Path:
    """The device of that file: a new one, unless it has one already."""
    present = loops_of(file)
    return present[0] if present else await attach_new(file)


async def attach_new(file: Path) -> Path:
    """A device of its own for that file, at which only losetup looks.

    losetup could look at the files behind all other devices first, so that no two processes attach
    the same one. It would hang while one of them does not answer, as an image of Ceph in a zone
    that is down. A driver is alone with its files, so there is no need to look.
    """
    completed = await run(["losetup", "--find", "--show", file], within=WITHIN)
    device = Path(completed.stdout.strip())
    _keep_blocks(device)
    return device


def _keep_blocks(device: Path) -> None:
    """A discarded block would go back to the disk the file lies on, where others would take it."""
    limit = BLOCK_DEVICES / device.name / "queue" / "discard_max_bytes"
    # Some kernels do not let it be set; such blocks are then counted as promised but not written.
    with suppress(OSError):
        limit.write_text("0")


async def resize(device: Path) -> None:
    """Let the device have the size that its file has now."""
    await run(["losetup", "--set-capacity", device], within=WITHIN)


async def detach(file: Path) -> None:
    """Its devices, and before them those that lie on these."""
    for device in loops_of(file):
        await detach(device)
        await run(["losetup", "--detach", device], within=WITHIN)
