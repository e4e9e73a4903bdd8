import asyncio
import contextlib
import os
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plimsoll.processes.driver.backends.cephfs.fuse_clients import FuseClient, read_client
from plimsoll.processes.driver.backends.cephfs.fuse_mounts import FuseMounts
from plimsoll.runtime.clock import SystemClock
from plimsoll.wire.ceph.connection import CephConnection
from plimsoll.wire.ceph.files.fencing import ClientAddresses, ClientFencing, fence
from plimsoll.wire.ceph.files.filesystem import CephFilesystem
from tests.ceph import guardian
from tests.ceph.cluster_filesystem import DATA_POOLS, FILESYSTEM, ClusterFilesystem
from tests.ceph.connections import LIMITS, connected
from tests.ceph.files.filesystems import MIB, access, files, mounted, written_until_refused

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")

NAME, PATH = "csi-vol-1", "/tested/csi-vol-1"


@pytest.fixture
async def connection(filesystem: ClusterFilesystem) -> AsyncIterator[CephConnection]:
    async with connected(filesystem.cluster, LIMITS, access(filesystem)) as made:
        yield made


@pytest.fixture
async def fs(filesystem: ClusterFilesystem) -> AsyncIterator[CephFilesystem]:
    async with files(filesystem) as made:
        await made.make_directory(PATH, quota_bytes=16 * MIB, pool=DATA_POOLS["zone-a"])
        yield made
        await made.remove_tree("/tested")


def mounts_of(filesystem: ClusterFilesystem, connection: CephConnection) -> FuseMounts:
    directory = filesystem.cluster.directory / "node"
    fencing = ClientFencing(connection, ClientAddresses(directory / "addresses"))
    made = FuseMounts(
        directory, access(filesystem), FILESYSTEM, fencing=fencing, clock=SystemClock()
    )
    made.prepare()
    return made


@pytest.fixture
async def mounts(
    filesystem: ClusterFilesystem,
    connection: CephConnection,
    fs: CephFilesystem,  # noqa: ARG001 - has the directory
) -> AsyncIterator[FuseMounts]:
    made = mounts_of(filesystem, connection)
    yield made
    await made.close(NAME)
    assert guardian.mounts(filesystem.cluster.directory / "node") == []
    assert ClientAddresses(filesystem.cluster.directory / "node" / "addresses").all() == set()


def client(filesystem: ClusterFilesystem) -> FuseClient:
    found = read_client(filesystem.cluster.directory / "node" / "clients" / NAME)
    assert found is not None
    return found


def killed_while_writing(own: FuseClient, file: Path, content: bytes) -> None:
    """The client has the file open for writing when it dies."""
    held = os.open(file, os.O_WRONLY | os.O_CREAT)
    os.write(held, content)
    os.fsync(held)
    own.kill()
    with contextlib.suppress(OSError):
        os.close(held)


def bind(place: Path, target: Path, *options: str) -> None:
    target.mkdir()
    subprocess.run(["mount", "--bind", place, target], check=True)
    if options:
        subprocess.run(["mount", "-o", ",".join(("remount", "bind", *options)), target], check=True)


def unbind(target: Path) -> None:
    subprocess.run(["umount", target], check=True)
    target.rmdir()


async def test_the_mount_shows_the_quota_and_no_snapshots(mounts: FuseMounts) -> None:
    place = await mounts.open(NAME, PATH)
    assert await mounts.open(NAME, PATH) == place == mounts.find(NAME)
    facts = os.statvfs(place)
    assert facts.f_blocks * facts.f_frsize == 16 * MIB
    assert not (place / ".snap").exists()
    with pytest.raises(FileNotFoundError):
        (place / ".snap" / "mine").mkdir()
    assert await asyncio.to_thread(written_until_refused, place) >= 12


async def test_closing_ends_the_process_in_order(
    mounts: FuseMounts, filesystem: ClusterFilesystem
) -> None:
    await mounts.open(NAME, PATH)
    own = client(filesystem)
    await mounts.close(NAME)
    await mounts.close(NAME)
    assert not own.is_alive
    assert own.address not in filesystem.blocklist()
    assert mounts.find(NAME) is None


async def test_a_process_that_was_killed_is_replaced_wherever_it_was_shown(
    mounts: FuseMounts, filesystem: ClusterFilesystem
) -> None:
    place = await mounts.open(NAME, PATH)
    (place / "f").write_text("written")
    os.sync()
    shown = [filesystem.cluster.directory / "node" / name for name in ("staged", "published")]
    bind(place, shown[0])
    bind(place, shown[1], "ro")
    old = client(filesystem)
    killed_while_writing(old, place / "held", b"x")
    assert await mounts.problem(NAME) == "its ceph-fuse has died, or does not answer"

    begun = time.monotonic()
    await mounts.open(NAME, PATH)
    for target in shown:
        assert (target / "f").read_text() == "written"
    (shown[0] / "held").write_text("by the new client")
    assert time.monotonic() - begun < 5
    with pytest.raises(OSError, match="Read-only"):
        (shown[1] / "g").touch()
    assert not await mounts.problem(NAME)
    assert old.address in filesystem.blocklist()
    for target in shown:
        unbind(target)


async def test_a_process_that_was_fenced_is_replaced(
    mounts: FuseMounts, filesystem: ClusterFilesystem, connection: CephConnection
) -> None:
    place = await mounts.open(NAME, PATH)
    old = client(filesystem)
    await fence(connection, old.address)
    until = time.monotonic() + 10
    while not await mounts.problem(NAME):
        assert time.monotonic() < until
    await mounts.open(NAME, PATH)
    (place / "f").write_text("by the new client")
    assert not old.is_alive


async def test_another_run_of_the_driver_takes_the_process_over(
    mounts: FuseMounts, filesystem: ClusterFilesystem, connection: CephConnection
) -> None:
    place = await mounts.open(NAME, PATH)
    own = client(filesystem)
    again = mounts_of(filesystem, connection)
    await again.open(NAME, PATH)
    assert client(filesystem) == own
    (place / "f").write_text("still welcome")
    assert own.address not in filesystem.blocklist()


async def test_without_metadata_servers_a_mount_is_taken_away_and_its_process_killed(
    mounts: FuseMounts, filesystem: ClusterFilesystem
) -> None:
    await mounts.open(NAME, PATH)
    own = client(filesystem)
    with filesystem.unserved():
        begun = time.monotonic()
        await mounts.close(NAME)
        assert time.monotonic() - begun < 20
        assert not own.is_alive


async def test_what_another_client_wrote_before_it_was_killed_can_be_written_to_at_once(
    mounts: FuseMounts, filesystem: ClusterFilesystem
) -> None:
    place = await mounts.open(NAME, PATH)
    killed_while_writing(client(filesystem), place / "held", b"x" * MIB)
    begun = time.monotonic()
    await mounts.close(NAME)
    with mounted(filesystem, PATH) as other:
        assert (other / "held").read_bytes() == b"x" * MIB
        (other / "held").write_bytes(b"y")
    assert time.monotonic() - begun < 10
