"""A driver on simulated pools in the test's own event loop, and short requests for it."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from google.protobuf.message import Message

from plimsoll.processes.driver.backends.pools.backend import PoolsBackend
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.main import handlers, running
from plimsoll.processes.driver.settings import BackendSettings, Mounts, NodeSettings
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.ids import seeded_ids
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi, pools_pb2
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.csi.methods import Method

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

NAME = "pools.test"
ZONE = f"topology.{NAME}/zone"
MIB = 1024**2
AccessMode = csi.VolumeCapability.AccessMode
WRITER = AccessMode.SINGLE_NODE_WRITER
ONE_POOL = ({"name": "only", "size": "1Gi"},)
TWO_ZONES = (
    {"name": "a", "size": "1Gi", "topology": {"zone": "a"}},
    {"name": "b", "size": "1Gi", "topology": {"zone": "b"}},
)
NODES = (
    NodeSettings(id="node-a", topology={ZONE: "a"}),
    NodeSettings(id="node-b", topology={ZONE: "b"}),
)


def nothing() -> None:
    pass


def names(directory: Path) -> set[str]:
    """Of what is in a directory, if there is one."""
    return {path.name for path in directory.glob("*")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    driver: Driver
    client: CsiClient
    clock: SteppedClock

    @property
    def backend(self) -> PoolsBackend:
        return cast("PoolsBackend", self.driver.backend)

    async def call(self, method: Method[Request, Response], request: Request) -> Response:
        return await self.client.call(method, request)

    async def refused(self, method: Method[Request, Response], request: Request) -> DriverFailure:
        """Why the call was refused."""
        with pytest.raises(DriverError) as refusal:
            await self.client.call(method, request)
        return refusal.value.failure

    async def create(self, name: str = "data", **wanted: Any) -> csi.Volume:
        answer = await self.call(m.CREATE_VOLUME, create_request(name, **wanted))
        return answer.volume

    async def cannot_create(self, name: str = "data", **wanted: Any) -> DriverFailure:
        return await self.refused(m.CREATE_VOLUME, create_request(name, **wanted))

    async def delete(self, volume_id: str) -> None:
        await self.call(m.DELETE_VOLUME, csi.DeleteVolumeRequest(volume_id=volume_id))

    async def take_snapshot(self, volume_id: str, name: str = "backup") -> csi.Snapshot:
        request = csi.CreateSnapshotRequest(source_volume_id=volume_id, name=name)
        return (await self.call(m.CREATE_SNAPSHOT, request)).snapshot

    async def expand(self, volume_id: str, mib: int, limit: int = 0) -> int:
        answer = await self.call(m.CONTROLLER_EXPAND_VOLUME, expand_request(volume_id, mib, limit))
        return answer.capacity_bytes // MIB

    async def attach(
        self, volume_id: str, node: str = "node-a", **how: Any
    ) -> csi.ControllerPublishVolumeResponse:
        return await self.call(m.CONTROLLER_PUBLISH_VOLUME, attach_request(volume_id, node, **how))

    async def detach(self, volume_id: str, node: str = "node-a") -> None:
        request = csi.ControllerUnpublishVolumeRequest(volume_id=volume_id, node_id=node)
        await self.call(m.CONTROLLER_UNPUBLISH_VOLUME, request)

    async def capacity(
        self, zone: str = "", parameters: Mapping[str, str] | None = None
    ) -> csi.GetCapacityResponse:
        request = csi.GetCapacityRequest(parameters=parameters or {})
        if zone:
            request.accessible_topology.segments[ZONE] = zone
        return await self.call(m.GET_CAPACITY, request)

    async def free_mib(self) -> dict[str, int]:
        """By pool."""
        answer = await self.call(m.LIST_POOLS, pools_pb2.ListPoolsRequest())
        return {
            pool.name: sum(extent.free_bytes for extent in pool.free_extents) // MIB
            for pool in answer.pools
        }

    async def release(self) -> None:
        """Nothing goes wrong any more, and what hung goes on."""
        self.backend.faults.set()
        await self.clock.run(timedelta(seconds=1))

    async def volume_ids(self) -> list[str]:
        answer = await self.call(m.LIST_VOLUMES, csi.ListVolumesRequest())
        return [entry.volume.volume_id for entry in answer.entries]


def capability(
    *, block: bool = False, fs_type: str = "", mode: AccessMode.Mode = WRITER
) -> csi.VolumeCapability:
    access = csi.VolumeCapability(access_mode=AccessMode(mode=mode))
    if block:
        access.block.SetInParent()
    else:
        access.mount.fs_type = fs_type
        access.mount.SetInParent()
    return access


def create_request(
    name: str,
    *,
    mib: int = 0,
    limit: int = 0,
    zones: Sequence[str] = (),
    preferred: Sequence[str] = (),
    parameters: Mapping[str, str] | None = None,
    mutable: Mapping[str, str] | None = None,
    volume: str = "",
    snapshot: str = "",
    **how: Any,
) -> csi.CreateVolumeRequest:
    request = csi.CreateVolumeRequest(
        name=name,
        capacity_range=csi.CapacityRange(required_bytes=mib * MIB, limit_bytes=limit * MIB),
        volume_capabilities=[capability(**how)],
        parameters=parameters or {},
        mutable_parameters=mutable or {},
    )
    requirement = request.accessibility_requirements
    requirement.requisite.extend(csi.Topology(segments={ZONE: zone}) for zone in zones)
    requirement.preferred.extend(csi.Topology(segments={ZONE: zone}) for zone in preferred)
    if volume:
        request.volume_content_source.volume.volume_id = volume
    if snapshot:
        request.volume_content_source.snapshot.snapshot_id = snapshot
    return request


def expand_request(volume_id: str, mib: int, limit: int = 0) -> csi.ControllerExpandVolumeRequest:
    wanted = csi.CapacityRange(required_bytes=mib * MIB, limit_bytes=limit * MIB)
    return csi.ControllerExpandVolumeRequest(volume_id=volume_id, capacity_range=wanted)


def attach_request(
    volume_id: str, node: str = "node-a", *, read_only: bool = False, **how: Any
) -> csi.ControllerPublishVolumeRequest:
    return csi.ControllerPublishVolumeRequest(
        volume_id=volume_id,
        node_id=node,
        readonly=read_only,
        volume_capability=capability(**how),
    )


@asynccontextmanager
async def a_driver(
    *pools: Mapping[str, Any],
    directory: Path | None = None,
    nodes: tuple[NodeSettings, ...] = NODES,
    on_write: Callable[[], None] = nothing,
    seed: int = 0,
) -> AsyncIterator[Running]:
    """Without a directory nothing is kept, and volumes are only remembered."""
    clock = SteppedClock()
    settings = BackendSettings(
        driver_name=NAME,
        data_dir=directory or Path("/nonexistent"),
        nodes=nodes,
        options={"pools": list(pools or ONE_POOL)},
        clock=clock,
        ids=seeded_ids(seed),
        mounts=Mounts.NONE if directory is None else Mounts.LINKED,
    )
    ledger = Ledger(directory, on_write=on_write)
    async with running("pools", settings, ledger) as driver:
        answers = handlers(driver, nodes[0], settings)
        client = CsiClient(InProcessCsi(answers, clock))
        yield Running(driver=driver, client=client, clock=clock)
