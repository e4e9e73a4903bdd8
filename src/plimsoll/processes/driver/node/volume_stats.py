"""How full a volume is, for NodeGetVolumeStats.

A file system tells that itself. A directory shares its file system with others: what counts there
is what lies in it, against what was promised.
"""

import os
from datetime import timedelta
from pathlib import Path

from plimsoll.processes.driver.backends.protocol import DirectorySource
from plimsoll.processes.driver.node.mounting.targets import real
from plimsoll.processes.driver.node.node_context import NodeContext
from plimsoll.processes.driver.records import VolumeMode, VolumeRecord
from plimsoll.processes.driver.settings import Mounts
from plimsoll.runtime.commands import run
from plimsoll.runtime.deadlines import in_thread_within
from plimsoll.runtime.files.mountinfo import find_mount, read_mounts
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.refusals import unavailable

WITHIN = timedelta(minutes=2)
ANSWERED_WITHIN = timedelta(seconds=10)
BYTES, INODES = csi.VolumeUsage.BYTES, csi.VolumeUsage.INODES


async def usages(
    context: NodeContext, volume: VolumeRecord, path: Path
) -> tuple[csi.VolumeUsage, ...]:
    source = context.opened(volume)
    if volume.mode is VolumeMode.BLOCK or context.mounting.kind is Mounts.NONE:
        return (csi.VolumeUsage(unit=BYTES, total=volume.size_bytes),)
    if isinstance(source, DirectorySource) and not _is_mounted(source.path):
        return await _of_directory(volume, source.path)
    try:
        return await in_thread_within(ANSWERED_WITHIN, lambda: _of_filesystem(path), OSError)
    except TimeoutError as error:
        raise unavailable(f"volume {volume.id}: its file system does not answer") from error


def _is_mounted(directory: Path) -> bool:
    return find_mount(read_mounts(), real(directory)) is not None


def _of_filesystem(path: Path) -> tuple[csi.VolumeUsage, ...]:
    found = os.statvfs(path)
    return (
        csi.VolumeUsage(
            unit=BYTES,
            total=found.f_blocks * found.f_frsize,
            available=found.f_bavail * found.f_frsize,
            used=(found.f_blocks - found.f_bfree) * found.f_frsize,
        ),
        csi.VolumeUsage(
            unit=INODES,
            total=found.f_files,
            available=found.f_favail,
            used=found.f_files - found.f_ffree,
        ),
    )


async def _of_directory(volume: VolumeRecord, path: Path) -> tuple[csi.VolumeUsage, ...]:
    used, files = await directory_bytes(path), await _directory_files(path)
    around = os.statvfs(path)
    return (
        csi.VolumeUsage(
            unit=BYTES,
            total=volume.size_bytes,
            available=max(0, min(volume.size_bytes - used, around.f_bavail * around.f_frsize)),
            used=used,
        ),
        csi.VolumeUsage(
            unit=INODES,
            total=files + around.f_favail,
            available=around.f_favail,
            used=files,
        ),
    )


async def directory_bytes(path: Path) -> int:
    """What the content of a directory takes on its disk, each file counted once."""
    return await _du(path, "--block-size=1")


async def _directory_files(path: Path) -> int:
    return await _du(path, "--inodes")


async def _du(path: Path, unit: str) -> int:
    completed = await run(["du", "--summarize", "--one-file-system", unit, path], within=WITHIN)
    return int(completed.stdout.split()[0])
