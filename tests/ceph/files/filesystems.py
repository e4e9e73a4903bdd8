"""A driver's view of the file system of the tests, and its files as any client sees them."""

import asyncio
import errno
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path

from plimsoll.wire.ceph.connection import CephAccess, CephLimits
from plimsoll.wire.ceph.files.fencing import ClientAddresses, ClientFencing
from plimsoll.wire.ceph.files.filesystem import CephFilesystem
from plimsoll.wire.ceph.files.worker_process import WorkerProcess
from tests.ceph.cluster_filesystem import FILESYSTEM, ClusterFilesystem
from tests.ceph.cluster_settings import FILES_USER
from tests.ceph.connections import LIMITS, connected

FILE_LIMITS = CephLimits(operation=timedelta(seconds=3), call=timedelta(seconds=8))
SLOWEST = 20.0
"""Seconds after which any call with these limits has ended."""
MIB = 1 << 20


def access(filesystem: ClusterFilesystem) -> CephAccess:
    return CephAccess(monitors=filesystem.cluster.monitor, user=FILES_USER, key=filesystem.key)


def nothing(worker: WorkerProcess) -> None:
    pass


@asynccontextmanager
async def files(
    filesystem: ClusterFilesystem, *, on_start: Callable[[WorkerProcess], None] = nothing
) -> AsyncIterator[CephFilesystem]:
    """Whose clients that died are fenced in the end."""
    addresses = ClientAddresses(filesystem.cluster.directory / f"clients-{os.urandom(4).hex()}")
    async with connected(filesystem.cluster, LIMITS, access(filesystem)) as connection:
        fencing = ClientFencing(connection, addresses)
        made = CephFilesystem(
            access(filesystem), FILESYSTEM, fencing, FILE_LIMITS, on_start=on_start
        )
        try:
            yield made
        finally:
            await made.close()
            await fencing.enforce()


def written_until_refused(place: Path) -> int:
    """How many MiB the directory takes until its quota is noticed, which is a little later.

    Raises OSError of another kind, and AssertionError if it takes everything.
    """
    for number in range(64):
        try:
            with (place / f"filling-{number}").open("wb") as file:
                file.write(b"x" * 4 * MIB)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            if error.errno != errno.EDQUOT:
                raise
            return 4 * number
    raise AssertionError


@contextmanager
def mounted(filesystem: ClusterFilesystem, path: str = "/") -> Iterator[Path]:
    """As the administrator sees it, by ceph-fuse."""
    place = filesystem.cluster.directory / f"mounted-{os.urandom(4).hex()}"
    place.mkdir()
    conf = str(filesystem.cluster.conf)
    command = ["ceph-fuse", "-c", conf, "-n", "client.admin", "-r", path, str(place)]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True, timeout=30)
        place.rmdir()


@asynccontextmanager
async def all_killed(filesystem: ClusterFilesystem) -> AsyncIterator[None]:
    """No daemon of Ceph runs for the length of the block; calls of this event loop go on."""
    killed = filesystem.all_killed()
    await asyncio.to_thread(killed.__enter__)
    try:
        yield
    finally:
        await asyncio.to_thread(killed.__exit__, None, None, None)
