"""What a fence does to volumes that are really mounted."""

import os
from pathlib import Path

import pytest

from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi, domains_pb2 as pb
from tests.processes.driver.backends.pools.test_several_nodes import MANY, Shared, shared_storage
from tests.processes.driver.node.ground import needs_root

pytestmark = needs_root
DOMAIN = csi.Topology(segments={"topology.pools.test/zone": "node-b"})


async def fence(shared: Shared) -> None:
    await shared.clients["node-a"].call(m.FENCE_DOMAIN, pb.FenceDomainRequest(domain=DOMAIN))


async def release(shared: Shared) -> None:
    await shared.clients["node-a"].call(m.RELEASE_DOMAIN, pb.ReleaseDomainRequest(domain=DOMAIN))


async def test_a_fenced_node_can_read_and_not_write(ground_dir: Path) -> None:
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create()
        inside = await shared.use(volume, "node-b", mode=MANY)
        outside = await shared.use(volume, "node-a", mode=MANY)
        (inside / "before").write_text("b")
        await fence(shared)
        with pytest.raises(OSError, match="Read-only file system"):
            (inside / "after").write_text("b")
        with pytest.raises(OSError, match="Read-only file system"):
            (shared.staging("node-b") / "after").write_text("b")
        assert (inside / "before").read_text() == "b"
        (outside / "after").write_text("a")


async def test_it_can_write_again_when_the_domain_is_released(ground_dir: Path) -> None:
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create()
        inside = await shared.use(volume, "node-b", mode=MANY)
        await fence(shared)
        await release(shared)
        (inside / "after").write_text("b")


async def test_no_domain_is_fenced_while_a_program_has_a_file_open_for_writing(
    ground_dir: Path,
) -> None:
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create()
        inside = await shared.use(volume, "node-b", mode=MANY)
        with (inside / "log").open("w") as file:
            with pytest.raises(DriverError, match="busy"):
                await fence(shared)
            file.write("the last line")
        await fence(shared)
        assert (inside / "log").read_text() == "the last line"


async def test_the_device_of_a_block_volume_is_taken_away(ground_dir: Path) -> None:
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create(block=True)
        inside = await shared.use(volume, "node-b", block=True, mode=MANY)
        handle = os.open(inside, os.O_RDWR)
        with pytest.raises(DriverError, match="busy"):
            await fence(shared)
        os.close(handle)
        await fence(shared)
        assert not inside.is_block_device()
