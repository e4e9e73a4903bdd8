"""The real csi-sanity on the rbd backend, as a process of its own, on the real cluster."""

import asyncio
import os
import shutil
from collections.abc import Iterator

import pytest
from conformance.csi_drivers import Driver, our_driver
from conformance.csi_sanity import MEBIBYTE, Questions, ask

from tests.ceph import guardian
from tests.ceph.cluster_settings import DRIVER_USER
from tests.ceph.interrupted_calls import journal_ground
from tests.ceph.loopback_cluster import POOLS, LoopbackCluster
from tests.ceph.rbd_drivers import CLASS

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount"),
    pytest.mark.skipif(shutil.which("go") is None, reason="csi-sanity is built with Go"),
]


@pytest.fixture
def driver(cluster: LoopbackCluster) -> Iterator[Driver]:
    directory = cluster.directory / "sanity"
    directory.mkdir()
    key = directory / "key"
    key.write_text(cluster.key)
    options = {
        "monitors": cluster.monitor,
        "user": DRIVER_USER,
        "keyFile": str(key),
        "pool": POOLS["zone-a"],
    }
    flags = [f"--backend-option={name}={value}" for name, value in options.items()]
    made = Driver(name="sanity.plimsoll.dev", node="node-1", directory=directory / "driver")
    with our_driver(made, "--backend=rbd", "--topology=zone=zone-a", *flags):
        yield made
    shutil.rmtree(directory)


@pytest.mark.parametrize("access_type", ["mount", "block"])
def test_csi_sanity_finds_nothing_and_leaves_nothing(
    cluster: LoopbackCluster, driver: Driver, access_type: str
) -> None:
    questions = Questions(
        access_type=access_type,
        parameters=CLASS,
        size_bytes=16 * MEBIBYTE,
        expanded_bytes=32 * MEBIBYTE,
    )
    (report,) = ask(driver, questions)
    assert len(report.passed) > 50
    assert guardian.mounts(driver.directory) == []
    asyncio.run(assert_empty(cluster))


async def assert_empty(cluster: LoopbackCluster) -> None:
    async with journal_ground(cluster) as ground:
        await ground.assert_empty()
