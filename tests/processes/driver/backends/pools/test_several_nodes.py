"""One volume on several nodes at once, with real mounts: simulated storage that is shared."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.main import handlers, running
from plimsoll.processes.driver.node.loop_devices import loops
from plimsoll.processes.driver.settings import BackendSettings, NodeSettings
from plimsoll.runtime.clock import SystemClock
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.inprocess import InProcessCsi
from tests.processes.driver.drivers import (
    MIB,
    AccessMode,
    attach_request,
    capability,
    create_request,
)
from tests.processes.driver.node.ground import left_mounted, needs_root, swept, until_none

pytestmark = needs_root
MANY = AccessMode.MULTI_NODE_MULTI_WRITER
READERS = AccessMode.MULTI_NODE_READER_ONLY
NODES = ("node-a", "node-b")


@pytest.fixture
def ground_dir(tmp_path: Path) -> Iterator[Path]:
    with swept(tmp_path) as directory:
        yield directory


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """A driver, and what the kubelets of its nodes ask of it."""

    clients: dict[str, CsiClient]
    directory: Path

    async def create(self, *, block: bool = False, mode: AccessMode.Mode = MANY) -> str:
        request = create_request("data", mib=16, block=block, mode=mode)
        return (await self.clients["node-a"].call(m.CREATE_VOLUME, request)).volume.volume_id

    def staging(self, node: str) -> Path:
        return self.directory / node / "staging"

    def target(self, node: str, pod: str) -> Path:
        return self.directory / node / pod

    async def use(self, volume: str, node: str, pod: str = "pod", **how: Any) -> Path:
        await self.attach(volume, node, **how)
        await self.stage(volume, node, **how)
        publish = csi.NodePublishVolumeRequest(
            volume_id=volume,
            staging_target_path=str(self.staging(node)),
            target_path=str(self.target(node, pod)),
            volume_capability=capability(**how),
        )
        await self.clients[node].call(m.NODE_PUBLISH_VOLUME, publish)
        return self.target(node, pod)

    async def attach(self, volume: str, node: str, **how: Any) -> None:
        request = attach_request(volume, node, **how)
        await self.clients[node].call(m.CONTROLLER_PUBLISH_VOLUME, request)

    async def stage(self, volume: str, node: str, **how: Any) -> None:
        self.staging(node).mkdir(parents=True, exist_ok=True)
        stage = csi.NodeStageVolumeRequest(
            volume_id=volume,
            staging_target_path=str(self.staging(node)),
            volume_capability=capability(**how),
        )
        await self.clients[node].call(m.NODE_STAGE_VOLUME, stage)

    async def leave(self, volume: str, node: str, pod: str = "pod") -> None:
        await self.tear_down(volume, node, pod)
        await self.detach(volume, node)

    async def tear_down(self, volume: str, node: str, pod: str = "pod") -> None:
        client = self.clients[node]
        unpublish = csi.NodeUnpublishVolumeRequest(
            volume_id=volume, target_path=str(self.target(node, pod))
        )
        await client.call(m.NODE_UNPUBLISH_VOLUME, unpublish)
        unstage = csi.NodeUnstageVolumeRequest(
            volume_id=volume, staging_target_path=str(self.staging(node))
        )
        await client.call(m.NODE_UNSTAGE_VOLUME, unstage)

    async def detach(self, volume: str, node: str) -> None:
        request = csi.ControllerUnpublishVolumeRequest(volume_id=volume, node_id=node)
        await self.clients[node].call(m.CONTROLLER_UNPUBLISH_VOLUME, request)

    async def delete(self, volume: str) -> None:
        request = csi.DeleteVolumeRequest(volume_id=volume)
        await self.clients["node-a"].call(m.DELETE_VOLUME, request)

    def devices(self) -> list[Path]:
        return [device for device, file in loops().items() if file.is_relative_to(self.directory)]


@asynccontextmanager
async def shared_storage(directory: Path) -> AsyncIterator[Shared]:
    zone = "topology.pools.test/zone"
    nodes = tuple(NodeSettings(id=name, topology={zone: name}) for name in NODES)
    settings = BackendSettings(
        driver_name="pools.test",
        data_dir=directory / "data",
        nodes=nodes,
        options={"pools": [{"name": "only", "size": "1Gi"}]},
    )
    async with running("pools", settings, Ledger(settings.data_dir)) as driver:
        clients = {
            node.id: CsiClient(InProcessCsi(handlers(driver, node, settings), SystemClock()))
            for node in nodes
        }
        yield Shared(clients=clients, directory=directory)


async def test_pods_on_two_nodes_see_what_the_other_writes(ground_dir: Path) -> None:
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create()
        one = await shared.use(volume, "node-a", mode=MANY)
        other = await shared.use(volume, "node-b", mode=MANY)
        (one / "from-a").write_text("a")
        (other / "from-b").write_text("b")
        assert (other / "from-a").read_text() == "a"
        assert (one / "from-b").read_text() == "b"


async def test_nodes_that_stage_at_once_wait_for_each_other(ground_dir: Path) -> None:
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create()
        for node in NODES:
            await shared.attach(volume, node, mode=MANY)
        await asyncio.gather(*(shared.stage(volume, node, mode=MANY) for node in NODES))
        assert len(left_mounted(ground_dir)) == len(NODES)


async def test_two_calls_of_one_node_at_once_are_refused_as_before(ground_dir: Path) -> None:
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create()
        await shared.attach(volume, "node-a", mode=MANY)
        calls = (shared.stage(volume, "node-a", mode=MANY) for _ in range(2))
        first, second = await asyncio.gather(*calls, return_exceptions=True)
        assert first is None
        assert isinstance(second, DriverError)
        assert second.code == "ABORTED"


async def test_a_node_that_leaves_takes_nothing_from_the_other(ground_dir: Path) -> None:
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create()
        one = await shared.use(volume, "node-a", mode=MANY)
        await shared.use(volume, "node-b", mode=MANY)
        await shared.leave(volume, "node-b")
        (one / "file").write_text("still here")
        with pytest.raises(DriverError, match="in use"):
            await shared.delete(volume)
        await shared.leave(volume, "node-a")
        assert left_mounted(ground_dir) == []
        await shared.delete(volume)


async def test_a_node_does_not_unstage_what_its_pods_still_use(ground_dir: Path) -> None:
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create()
        await shared.use(volume, "node-a", "first", mode=MANY)
        await shared.use(volume, "node-a", "second", mode=MANY)
        with pytest.raises(DriverError, match=r"still published at .*/second"):
            await shared.leave(volume, "node-a", "first")


async def test_mounts_of_both_nodes_are_known_after_a_restart(ground_dir: Path) -> None:
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create()
        for node in NODES:
            await shared.use(volume, node, mode=MANY)
    async with shared_storage(ground_dir) as shared:
        for node in NODES:
            await shared.use(volume, node, mode=MANY)
        assert len(left_mounted(ground_dir)) == 4
        for node in NODES:
            await shared.leave(volume, node)
        assert left_mounted(ground_dir) == []


async def test_a_block_volume_is_one_device_on_all_nodes(ground_dir: Path) -> None:
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create(block=True)
        one = await shared.use(volume, "node-a", block=True, mode=MANY)
        other = await shared.use(volume, "node-b", block=True, mode=MANY)
        with one.open("r+b") as file:
            file.write(b"from a".ljust(MIB, b"\0"))
            os.fsync(file.fileno())
        with other.open("rb") as file:
            assert file.read(6) == b"from a"
        await shared.leave(volume, "node-a")
        with other.open("rb") as file:
            assert file.read(6) == b"from a"
        await shared.leave(volume, "node-b")
        await until_none(shared.devices)


async def test_a_block_volume_is_not_made_read_only_under_another_nodes_writer(
    ground_dir: Path,
) -> None:
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create(block=True)
        one = await shared.use(volume, "node-a", block=True, mode=MANY)
        with pytest.raises(DriverError, match="read-only on all nodes of this machine or on none"):
            await shared.use(volume, "node-b", block=True, mode=READERS)
        with one.open("r+b") as file:
            file.write(b"x")


async def test_a_volume_for_one_node_stays_on_one(ground_dir: Path) -> None:
    writer = AccessMode.SINGLE_NODE_WRITER
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create(mode=writer)
        await shared.use(volume, "node-a", mode=writer)
        with pytest.raises(DriverError, match="can be on one node at a time"):
            await shared.use(volume, "node-b", mode=writer)


@pytest.mark.parametrize("block", [False, True], ids=["directory", "device"])
async def test_a_node_that_comes_back_tears_down_what_was_detached_meanwhile(
    ground_dir: Path, *, block: bool
) -> None:
    writer = AccessMode.SINGLE_NODE_WRITER
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create(block=block, mode=writer)
        await shared.use(volume, "node-a", mode=writer, block=block)
        await shared.detach(volume, "node-a")
        other = await shared.use(volume, "node-b", mode=writer, block=block)
        await shared.tear_down(volume, "node-a")
        if block:
            with other.open("r+b") as file:
                file.write(b"still here")
        else:
            (other / "file").write_text("still here")
        await shared.leave(volume, "node-b")
        assert left_mounted(ground_dir) == []
        await until_none(shared.devices)


async def test_a_volume_that_was_detached_is_not_used_again_through_an_old_mount(
    ground_dir: Path,
) -> None:
    async with shared_storage(ground_dir) as shared:
        volume = await shared.create()
        await shared.use(volume, "node-a", mode=MANY)
        await shared.detach(volume, "node-a")
        with pytest.raises(DriverError, match="is not attached to node node-a"):
            await shared.stage(volume, "node-a", mode=MANY)
        publish = csi.NodePublishVolumeRequest(
            volume_id=volume,
            staging_target_path=str(shared.staging("node-a")),
            target_path=str(shared.target("node-a", "other")),
            volume_capability=capability(mode=MANY),
        )
        with pytest.raises(DriverError, match="is not attached to node node-a"):
            await shared.clients["node-a"].call(m.NODE_PUBLISH_VOLUME, publish)
