"""A driver on a volume group, and calls to it, as tests need them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta

from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.main import handlers, running
from plimsoll.processes.driver.settings import BackendSettings
from plimsoll.runtime.clock import SystemClock
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.csi.methods import (
    CONTROLLER_EXPAND_VOLUME,
    CREATE_VOLUME,
    DELETE_VOLUME,
    GET_CAPACITY,
    LIST_VOLUMES,
)

DEADLINE = timedelta(seconds=60)
BLOCK = csi.VolumeCapability(
    block=csi.VolumeCapability.BlockVolume(),
    access_mode=csi.VolumeCapability.AccessMode(
        mode=csi.VolumeCapability.AccessMode.SINGLE_NODE_WRITER
    ),
)


class Caller:
    def __init__(self, client: CsiClient) -> None:
        self.client = client
        self._number = 0

    async def create(
        self, parameters: Mapping[str, str], size_bytes: int, *, name: str = ""
    ) -> csi.Volume:
        self._number += 1
        request = csi.CreateVolumeRequest(
            name=name or f"pvc-{self._number}",
            capacity_range=csi.CapacityRange(required_bytes=size_bytes),
            volume_capabilities=[BLOCK],
            parameters=parameters,
        )
        return (await self.client.call(CREATE_VOLUME, request)).volume

    async def expand(self, volume_id: str, size_bytes: int) -> None:
        request = csi.ControllerExpandVolumeRequest(
            volume_id=volume_id, capacity_range=csi.CapacityRange(required_bytes=size_bytes)
        )
        await self.client.call(CONTROLLER_EXPAND_VOLUME, request)

    async def delete(self, volume_id: str) -> None:
        await self.client.call(DELETE_VOLUME, csi.DeleteVolumeRequest(volume_id=volume_id))

    async def capacity(self, parameters: Mapping[str, str]) -> csi.GetCapacityResponse:
        request = csi.GetCapacityRequest(parameters=parameters, volume_capabilities=[BLOCK])
        return await self.client.call(GET_CAPACITY, request)

    async def ids(self) -> set[str]:
        """Of all volumes that the driver knows of."""
        listed = await self.client.call(LIST_VOLUMES, csi.ListVolumesRequest())
        return {entry.volume.volume_id for entry in listed.entries}


@asynccontextmanager
async def a_driver(settings: BackendSettings) -> AsyncIterator[Caller]:
    """In this process."""
    settings.data_dir.mkdir(exist_ok=True)
    async with running("lvm", settings, Ledger(settings.data_dir)) as driver:
        answers = handlers(driver, settings.nodes[0], settings)
        yield Caller(CsiClient(InProcessCsi(answers, SystemClock()), within=DEADLINE))
