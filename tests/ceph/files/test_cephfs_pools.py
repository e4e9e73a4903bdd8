"""Data pools of a file system that say themselves which zone they are near, and how an
administrator makes them."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from plimsoll.wire.ceph.files.filesystem import CephFilesystem
from tests.ceph.cluster_filesystem import DATA_POOLS, FILESYSTEM, ClusterFilesystem
from tests.ceph.cluster_settings import ZONES
from tests.ceph.files.cephfs_drivers import cephfs_driver
from tests.ceph.files.filesystems import files
from tests.ceph.files.test_cephfs_controller import directory_of, zones_of
from tests.ceph.pool_admin import POOLS, PoolAdmin

GROUP = "gold"
CLASS = {"fsName": FILESYSTEM, "poolGroup": GROUP}


@pytest.fixture
async def fs(filesystem: ClusterFilesystem) -> AsyncIterator[CephFilesystem]:
    async with files(filesystem) as made:
        yield made


@pytest.fixture
def admin(filesystem: ClusterFilesystem, tmp_path: Path) -> Iterator[PoolAdmin]:
    admin = PoolAdmin(filesystem.cluster, tmp_path, file_system=FILESYSTEM)
    yield admin
    admin.clear()


@contextmanager
def labelled(
    filesystem: ClusterFilesystem, pool: str, application: str, zone: str
) -> Iterator[None]:
    command, where = filesystem.cluster.command, {"pool": pool, "app": application}
    labels = {"plimsoll.domain.zone": zone, "plimsoll.group": GROUP}
    for key, value in labels.items():
        command("osd pool application set", **where, key=key, value=value)
    try:
        yield
    finally:
        for key in labels:
            command("osd pool application rm", **where, key=key)


async def test_a_class_gets_pools_by_their_labels_also_those_that_are_labelled_later(
    filesystem: ClusterFilesystem, fs: CephFilesystem, tmp_path: Path
) -> None:
    with labelled(filesystem, DATA_POOLS["zone-a"], "cephfs", "zone-a"):
        async with cephfs_driver(filesystem, tmp_path) as driver:
            assert (await driver.capacity("zone-a", CLASS)).available_capacity
            assert not (await driver.capacity("zone-b", CLASS)).available_capacity
            with labelled(filesystem, DATA_POOLS["zone-b"], "cephfs", "zone-b"):
                assert (await driver.capacity("zone-b", CLASS)).available_capacity
                volume = await driver.create("data", mib=8, zones=["zone-b"], parameters=CLASS)
                assert zones_of(volume) == ["zone-b"]
                assert (await fs.facts(directory_of(volume))).pool == DATA_POOLS["zone-b"]
                await driver.delete(volume.volume_id)


async def test_pools_that_are_not_of_the_file_system_are_not_taken(
    filesystem: ClusterFilesystem, tmp_path: Path
) -> None:
    with labelled(filesystem, "rbd-zone-a", "rbd", "zone-a"):
        async with cephfs_driver(filesystem, tmp_path) as driver:
            assert not (await driver.capacity("zone-a", CLASS)).available_capacity
            assert await driver.cannot_create(mib=8, zones=["zone-a"], parameters=CLASS)


async def test_make_pools_makes_data_pools_that_a_driver_uses_by_the_class_that_is_printed(
    admin: PoolAdmin, filesystem: ClusterFilesystem, fs: CephFilesystem, tmp_path: Path
) -> None:
    parameters = yaml.safe_load(admin.made(f"--group={GROUP}").stdout)["parameters"]
    assert parameters == CLASS
    assert admin.made(f"--group={GROUP}").stderr == "everything is there already\n"
    for number, zone in enumerate(ZONES):
        assert {primary for primary, *_ in admin.placed(POOLS[zone])} == {number}
        assert {tuple(sorted(acting)) for _, *acting in admin.placed(POOLS[zone])} == {(0, 1, 2)}
    assert "near-journal" not in admin.pools
    filesystem.cluster.wait_for_figures()
    async with cephfs_driver(filesystem, tmp_path / "driver") as driver:
        for zone in ZONES:
            volume = await driver.create(zone, mib=8, zones=[zone], parameters=parameters)
            assert zones_of(volume) == [zone]
            assert (await fs.facts(directory_of(volume))).pool == POOLS[zone]
            await driver.delete(volume.volume_id)


def test_a_file_system_that_is_not_there_is_told(
    filesystem: ClusterFilesystem, tmp_path: Path
) -> None:
    said = PoolAdmin(filesystem.cluster, tmp_path, file_system="other").refusal()
    assert f"there is no file system other; Ceph has {FILESYSTEM}" in said
