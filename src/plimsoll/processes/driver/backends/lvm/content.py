"""What is on the devices: copied whole, or overwritten with zeroes."""

from datetime import timedelta

from plimsoll.processes.driver.backends.lvm.group import told
from plimsoll.runtime.commands import CommandError, run
from plimsoll.wire.csi.refusals import internal

AT_LEAST = timedelta(minutes=2)
SLOWEST_BYTES_PER_SECOND = 10 * 1024**2
"""A disk that does less is taken for broken."""


async def copy(source: str, target: str, size_bytes: int) -> None:
    """From the beginning of one device to that of the other, which is no smaller."""
    # `nocreat`: if the node of the device were missing, a file of that name would fill /dev.
    files = [f"if={source}", f"of={target}"]
    argv = ["dd", *files, "bs=4M", "oflag=direct", "conv=fsync,nocreat", "status=none"]
    await _done(argv, size_bytes)


async def erase(device: str, size_bytes: int) -> None:
    await _done(["blkdiscard", "--zeroout", device], size_bytes)


async def _done(argv: list[str], size_bytes: int) -> None:
    within = AT_LEAST + timedelta(seconds=size_bytes / SLOWEST_BYTES_PER_SECOND)
    try:
        await run(argv, within=within)
    except CommandError as error:
        raise internal(told(error)) from error
