"""CreateSnapshot and DeleteSnapshot: copies that outlive what they were taken of."""

from dataclasses import replace

import msgspec

from plimsoll.processes.driver.backends.protocol import BackendRequest
from plimsoll.processes.driver.controller.answers import snapshot_message
from plimsoll.processes.driver.controller.placement import (
    TopologyRequirement,
    find_place,
    largest_place,
)
from plimsoll.processes.driver.controller.requests import parse_name, parse_parameters, required
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.records import (
    RecordPhase,
    SnapshotRecord,
    VolumePlacement,
    VolumeRecord,
)
from plimsoll.processes.driver.work import snapshot_key, snapshot_name_key, volume_key
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.refusals import already_exists, invalid_argument, resource_exhausted


class Snapshots:
    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def create_snapshot(
        self, request: csi.CreateSnapshotRequest
    ) -> csi.CreateSnapshotResponse:
        volume_id = required(request.source_volume_id, "source_volume_id")
        name = parse_name(request.name, "name")
        if unknown := parse_parameters(request.parameters):
            raise invalid_argument(f"parameters: unknown {', '.join(unknown)}; known are none")

        async def create() -> SnapshotRecord:
            return await self._known(name, volume_id) or await self._take(name, volume_id)

        snapshot = await self._driver.work.alone(
            create, snapshot_name_key(name), shared=(volume_key(volume_id),)
        )
        return csi.CreateSnapshotResponse(snapshot=snapshot_message(snapshot))

    async def _known(self, name: str, volume_id: str) -> SnapshotRecord | None:
        records = self._driver.records
        source = await records.volumes.find(volume_id)
        known = await records.snapshots.find_by_name(name, source.parameters if source else {})
        if known is None:
            return None
        if known.phase is not RecordPhase.READY:
            await self._driver.undo_snapshot(known)
            return None
        if known.volume_id != volume_id:
            raise already_exists(f"snapshot {name}: exists already, of volume {known.volume_id}")
        return known

    async def _take(self, name: str, volume_id: str) -> SnapshotRecord:
        driver = self._driver
        volume = await driver.volume(volume_id)
        async with driver.placing:
            place = await self._place(name, volume)
            record = SnapshotRecord(
                id=await driver.records.snapshots.new_id(name, place),
                name=name,
                volume_id=volume.id,
                size_bytes=volume.size_bytes,
                mode=volume.mode,
                fs_type=volume.fs_type,
                parameters=volume.parameters,
                placement=place,
                phase=RecordPhase.MAKING,
                created_at=driver.clock.now(),
            )
            snapshot = await driver.records.snapshots.put(record)
        try:
            await driver.backend.snapshot(snapshot, volume)
        except Exception:
            await driver.undo_snapshot(snapshot)
            raise
        ready = msgspec.structs.replace(snapshot, phase=RecordPhase.READY)
        return await driver.records.snapshots.put(ready)

    async def _place(self, name: str, volume: VolumeRecord) -> VolumePlacement:
        """In the pools of its volume; a snapshot takes as much capacity as another such volume."""
        pools = await self._driver.pools()
        layout = self._driver.backend.layout(request_of(volume))
        beside = replace(layout, pools=frozenset(volume.placement.pools))
        place = find_place(pools, beside, TopologyRequirement(), volume.size_bytes)
        if place is None:
            largest = largest_place(pools, beside, TopologyRequirement())
            raise resource_exhausted(
                f"snapshot {name}: needs {volume.size_bytes} bytes beside volume {volume.id}, there"
                f" is room for {largest}"
            )
        return place

    async def delete_snapshot(
        self, request: csi.DeleteSnapshotRequest
    ) -> csi.DeleteSnapshotResponse:
        snapshot_id = required(request.snapshot_id, "snapshot_id")
        known = await self._driver.records.snapshots.find(snapshot_id)
        if known is None:
            return csi.DeleteSnapshotResponse()

        async def delete() -> None:
            snapshot = await self._driver.records.snapshots.find(snapshot_id)
            if snapshot is not None:
                await self._driver.remove_snapshot(snapshot)

        keys = (snapshot_key(snapshot_id), snapshot_name_key(known.name))
        await self._driver.work.alone(delete, *keys)
        return csi.DeleteSnapshotResponse()


def request_of(volume: VolumeRecord) -> BackendRequest:
    """What was asked for when the volume was made."""
    return BackendRequest(
        parameters=volume.parameters,
        mutable_parameters=volume.mutable_parameters,
        mode=volume.mode,
        fs_type=volume.fs_type,
        extents=len(volume.placement.parts),
    )
