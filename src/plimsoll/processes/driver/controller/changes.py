"""ControllerExpandVolume and ControllerModifyVolume: what changes in a volume that exists."""

import msgspec

from plimsoll.processes.driver.controller.creation import chosen_size
from plimsoll.processes.driver.controller.placement import find_larger_place
from plimsoll.processes.driver.controller.requests import (
    SizeRange,
    parse_capability,
    parse_mutable,
    parse_size,
    required,
)
from plimsoll.processes.driver.controller.snapshots import request_of
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.records import VolumeMode, VolumeRecord
from plimsoll.processes.driver.work import volume_key
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.refusals import (
    failed_precondition,
    invalid_argument,
    out_of_range,
)


class Changes:
    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def expand_volume(
        self, request: csi.ControllerExpandVolumeRequest
    ) -> csi.ControllerExpandVolumeResponse:
        volume_id = required(request.volume_id, "volume_id")
        if not request.HasField("capacity_range"):
            raise invalid_argument("capacity_range: must be given")
        wanted = parse_size(request.capacity_range)
        if request.HasField("volume_capability"):
            _check_mode(await self._driver.volume(volume_id), request.volume_capability)

        async def expand() -> VolumeRecord:
            return await self._expand(await self._driver.volume(volume_id), wanted)

        volume = await self._driver.work.alone(expand, volume_key(volume_id))
        return csi.ControllerExpandVolumeResponse(
            capacity_bytes=volume.size_bytes,
            node_expansion_required=volume.mode is VolumeMode.FILESYSTEM,
        )

    async def _expand(self, volume: VolumeRecord, wanted: SizeRange) -> VolumeRecord:
        if volume.growing_bytes:
            volume = await self._driver.grow_volume(volume)
        if wanted.required_bytes <= volume.size_bytes:
            return _large_enough(volume, wanted)
        features = self._driver.backend.features
        if not features.online_expansion and (where := await self._driver.where_in_use(volume)):
            raise failed_precondition(
                f"volume {volume.id}: can grow only while it is not in use, and it is: {where}"
            )
        growing = await self._take_capacity(volume, wanted)
        try:
            return await self._driver.grow_volume(growing)
        except Exception:
            await self._put_back(volume, growing)
            raise

    async def _put_back(self, volume: VolumeRecord, changed: VolumeRecord) -> None:
        before = msgspec.structs.replace(volume, revision=changed.revision)
        await self._driver.records.volumes.put(before)

    async def _take_capacity(self, volume: VolumeRecord, wanted: SizeRange) -> VolumeRecord:
        driver = self._driver
        async with driver.placing:
            pools = await driver.pools()
            layout = driver.backend.layout(request_of(volume))
            size = chosen_size(wanted, layout)
            place = find_larger_place(pools, layout, volume.placement, size)
            if place is None:
                # Nothing has begun, so the size may be given up. RESOURCE_EXHAUSTED would say that
                # the driver may still be at work on it.
                raise out_of_range(
                    f"volume {volume.id}: cannot grow from {volume.size_bytes} to {size} bytes,"
                    " there is no room for that where it is"
                )
            growing = msgspec.structs.replace(volume, placement=place, growing_bytes=size)
            return await driver.records.volumes.put(growing)

    async def modify_volume(
        self, request: csi.ControllerModifyVolumeRequest
    ) -> csi.ControllerModifyVolumeResponse:
        volume_id = required(request.volume_id, "volume_id")
        await self._driver.volume(volume_id)
        changed = parse_mutable(request.mutable_parameters, self._driver.backend.features)

        async def modify() -> None:
            await self._modify(await self._driver.volume(volume_id), changed)

        await self._driver.work.alone(modify, volume_key(volume_id))
        return csi.ControllerModifyVolumeResponse()

    async def _modify(self, volume: VolumeRecord, changed: dict[str, str]) -> None:
        parameters = {**volume.mutable_parameters, **changed}
        modified = msgspec.structs.replace(volume, mutable_parameters=parameters)
        self._driver.backend.layout(request_of(modified))
        # Written first: after a crash the backend makes true what is recorded.
        modified = await self._driver.records.volumes.put(modified)
        try:
            await self._driver.backend.modify(modified)
        except Exception:
            await self._put_back(volume, modified)
            raise


def _check_mode(volume: VolumeRecord, given: csi.VolumeCapability) -> None:
    if parse_capability(given).mode is not volume.mode:
        raise invalid_argument(f"volume_capability: volume {volume.id} is a {volume.mode} one")


def _large_enough(volume: VolumeRecord, wanted: SizeRange) -> VolumeRecord:
    """A repeated call, or a size that the volume has already; volumes never shrink."""
    if not wanted.holds(volume.size_bytes):
        raise out_of_range(
            f"volume {volume.id}: has {volume.size_bytes} bytes, more than the limit of"
            f" {wanted.limit_bytes}, and cannot shrink"
        )
    return volume
