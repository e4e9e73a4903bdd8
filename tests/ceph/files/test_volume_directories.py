import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from plimsoll.processes.driver.backends.ceph.records.journaled_assets import SpoiltPlaceError
from plimsoll.processes.driver.backends.cephfs.volume_directories import (
    NewDirectory,
    SnapshotName,
    VolumeDirectories,
)
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.files.filesystem import CephFilesystem
from tests.ceph.cluster_filesystem import DATA_POOLS, ClusterFilesystem
from tests.ceph.files.filesystems import MIB, files, mounted

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")

POOL_A, POOL_B = DATA_POOLS["zone-a"], DATA_POOLS["zone-b"]
SNAPSHOT = SnapshotName(volume="one", name="snap-1")


def new(name: str, pool: str = POOL_A) -> NewDirectory:
    return NewDirectory(name=name, size_bytes=16 * MIB, pool=pool)


@pytest.fixture
async def fs(filesystem: ClusterFilesystem) -> AsyncIterator[CephFilesystem]:
    async with files(filesystem) as made:
        yield made


@pytest.fixture
async def volumes(fs: CephFilesystem) -> AsyncIterator[VolumeDirectories]:
    """In the end nothing is left of what a test has made."""
    made = VolumeDirectories(fs, "/root")
    yield made
    for name in ("snap-1", "three", "two", "one"):
        await made.remove_any(name)
    for folder in ("volumes", "removed", "snapshots", "copies"):
        assert await fs.names(f"/root/{folder}") == ()
    await fs.remove_tree("/root")


def write(filesystem: ClusterFilesystem, name: str, text: str) -> None:
    with mounted(filesystem, f"/root/volumes/{name}") as place:
        (place / "f").write_text(text)


def read(filesystem: ClusterFilesystem, name: str) -> str:
    with mounted(filesystem, f"/root/volumes/{name}") as place:
        return (place / "f").read_text()


async def test_a_clone_has_the_content_of_its_moment_and_outlives_its_source(
    volumes: VolumeDirectories, filesystem: ClusterFilesystem
) -> None:
    await volumes.make(new("one"))
    await asyncio.to_thread(write, filesystem, "one", "before")
    await volumes.make_from_volume("one", new("two", POOL_B))
    await asyncio.to_thread(write, filesystem, "one", "later ")
    assert (await volumes.facts("one")).snapshots == ()
    await volumes.remove("one")
    assert await asyncio.to_thread(read, filesystem, "two") == "before"
    assert (await volumes.facts("two")).pool == POOL_B


async def test_a_snapshot_outlives_its_volume_until_it_is_removed_itself(
    volumes: VolumeDirectories, filesystem: ClusterFilesystem, fs: CephFilesystem
) -> None:
    await volumes.make(new("one"))
    await asyncio.to_thread(write, filesystem, "one", "kept")
    await volumes.take_snapshot(SNAPSHOT)
    await volumes.take_snapshot(SNAPSHOT)
    await volumes.remove("one")
    await volumes.remove("one")
    with pytest.raises(CephError) as caught:
        await volumes.facts("one")
    assert caught.value.failure is CephFailure.NOT_FOUND
    await volumes.make_from_snapshot(SNAPSHOT, new("two"))
    assert await asyncio.to_thread(read, filesystem, "two") == "kept"
    await volumes.remove_snapshot("snap-1")
    await volumes.remove_snapshot("snap-1")
    assert await fs.names("/root/removed") == ()


async def test_no_copy_is_made_over_what_is_there_and_each_is_of_one_moment(
    volumes: VolumeDirectories, filesystem: ClusterFilesystem, fs: CephFilesystem
) -> None:
    """The first attempt ended before this call knew; a file has changed and not its size."""
    await volumes.make(new("one"))
    await asyncio.to_thread(write, filesystem, "one", "first ")
    await volumes.make_from_volume("one", new("two"))
    await asyncio.to_thread(write, filesystem, "two", "mine")
    await asyncio.to_thread(write, filesystem, "one", "second")
    await volumes.take_snapshot(SNAPSHOT)
    with pytest.raises(SpoiltPlaceError):
        await volumes.make_from_volume("one", new("two"))
    with pytest.raises(SpoiltPlaceError):
        await volumes.make_from_snapshot(SNAPSHOT, new("two"))
    assert await asyncio.to_thread(read, filesystem, "two") == "mine"
    await volumes.make_from_volume("one", new("three"))
    assert await asyncio.to_thread(read, filesystem, "three") == "second"
    assert await fs.names("/root/copies") == ()


async def test_what_an_interrupted_copy_holds_of_its_source_goes_with_it(
    volumes: VolumeDirectories, fs: CephFilesystem
) -> None:
    await volumes.make(new("one"))
    await volumes.make(new("two"))
    await fs.make_link("/root/copies/two", "one")
    await fs.take_snapshot("/root/volumes/one", "plimsoll-for-two")
    await volumes.remove("one")
    assert await fs.names("/root/removed") == ("one",)
    await volumes.remove_any("two")
    assert await fs.names("/root/removed") == ()


async def test_copies_that_were_given_up_hold_nothing_of_their_source(
    volumes: VolumeDirectories, fs: CephFilesystem
) -> None:
    await volumes.make(new("one"))
    for copy in ("two", "three"):
        await fs.make_link(f"/root/copies/{copy}", "one")
        await fs.take_snapshot("/root/volumes/one", f"plimsoll-for-{copy}")
    await volumes.end_copies(but={"three"})
    assert (await volumes.facts("one")).snapshots == ("plimsoll-for-three",)
    assert await fs.names("/root/copies") == ("three",)
    await volumes.end_copies(but=())
    assert (await volumes.facts("one")).snapshots == ()
    await volumes.remove("one")


@pytest.mark.parametrize(
    "other", [new("one", POOL_B), replace(new("one"), size_bytes=8 * MIB)], ids=["pool", "size"]
)
async def test_what_an_attempt_with_another_pool_or_size_left_is_not_touched(
    volumes: VolumeDirectories, filesystem: ClusterFilesystem, other: NewDirectory
) -> None:
    """Another call may have finished it by now: the journal gives such a place up."""
    await volumes.make(new("one"))
    await volumes.make(new("one"))
    await asyncio.to_thread(write, filesystem, "one", "mine")
    with pytest.raises(SpoiltPlaceError):
        await volumes.make(other)
    found = await volumes.facts("one")
    assert (found.pool, found.quota_bytes) == (POOL_A, 16 * MIB)
    assert await asyncio.to_thread(read, filesystem, "one") == "mine"


async def test_a_quota_grows_and_never_shrinks(volumes: VolumeDirectories) -> None:
    await volumes.make(new("one"))
    await volumes.grow("one", 32 * MIB)
    await volumes.grow("one", 8 * MIB)
    assert (await volumes.facts("one")).quota_bytes == 32 * MIB


async def test_a_full_pool_takes_no_content_and_lets_volumes_be_removed(
    volumes: VolumeDirectories, filesystem: ClusterFilesystem
) -> None:
    cluster = filesystem.cluster
    await volumes.make(new("one", POOL_B))
    await asyncio.to_thread(write, filesystem, "one", "content")
    await volumes.take_snapshot(SNAPSHOT)
    with cluster.quota(POOL_A, 4 * MIB):
        await asyncio.to_thread(cluster.fill, POOL_A, 8 * MIB)
        with pytest.raises(CephError) as caught:
            await volumes.make_from_snapshot(SNAPSHOT, new("two", POOL_A))
        assert caught.value.failure is CephFailure.NO_ROOM
        await volumes.remove("two")
        await volumes.remove_snapshot("snap-1")
        await volumes.remove("one")
        cluster.empty(POOL_A)
