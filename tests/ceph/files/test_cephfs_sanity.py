"""The real csi-sanity on the cephfs backend, as a process of its own, on the real cluster."""

import asyncio
import os
import shutil
from collections.abc import Iterator

import pytest
from conformance.csi_drivers import Driver, our_driver
from conformance.csi_sanity import MEBIBYTE, Questions, ask

from tests.ceph import guardian
from tests.ceph.cluster_filesystem import ClusterFilesystem
from tests.ceph.files.cephfs_drivers import CLASS, cephfs_options
from tests.ceph.files.filesystems import files

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount"),
    pytest.mark.skipif(shutil.which("go") is None, reason="csi-sanity is built with Go"),
]


@pytest.fixture
def driver(filesystem: ClusterFilesystem) -> Iterator[Driver]:
    directory = filesystem.cluster.directory / "sanity"
    directory.mkdir()
    given = cephfs_options(filesystem) | {"pool": "csi-zone-a"}
    flags = [f"--backend-option={name}={value}" for name, value in given.items()]
    made = Driver(name="sanity.plimsoll.dev", node="node-1", directory=directory / "driver")
    with our_driver(made, "--backend=cephfs", "--topology=zone=zone-a", *flags):
        yield made
    shutil.rmtree(directory)


def test_csi_sanity_finds_nothing_and_leaves_nothing(
    filesystem: ClusterFilesystem, driver: Driver
) -> None:
    questions = Questions(
        access_type="mount",
        parameters=CLASS,
        size_bytes=16 * MEBIBYTE,
        expanded_bytes=32 * MEBIBYTE,
    )
    (report,) = ask(driver, questions)
    assert len(report.passed) > 50
    assert guardian.mounts(driver.directory) == []
    assert asyncio.run(left(filesystem)) == []


async def left(filesystem: ClusterFilesystem) -> list[str]:
    async with files(filesystem) as fs:
        folders = ("volumes", "removed", "snapshots", "copies")
        return [name for folder in folders for name in await fs.names(f"/plimsoll/{folder}")]
