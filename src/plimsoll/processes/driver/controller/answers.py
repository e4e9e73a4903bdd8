"""What callers are told of volumes and snapshots: from records to messages."""

from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from plimsoll.processes.driver.controller.placement import Segment
from plimsoll.processes.driver.controller.reach import told_of_place
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.records import SnapshotRecord, VolumeRecord
from plimsoll.wire.csi.gen import csi_pb2 as csi


def topologies(segments: Sequence[Segment]) -> list[csi.Topology]:
    return [csi.Topology(segments=dict(segment)) for segment in segments]


def told_topology(volume: VolumeRecord) -> Sequence[Segment]:
    return volume.placement.served_from or volume.placement.topology


def context_of(driver: Driver, volume: VolumeRecord) -> dict[str, str]:
    """What nodes and people may know of the volume: never a secret."""
    told = told_of_place(volume.placement)
    return {"backend": driver.identity.backend, **volume.parameters, **told}


def volume_message(driver: Driver, volume: VolumeRecord) -> csi.Volume:
    message = csi.Volume(
        volume_id=volume.id,
        capacity_bytes=volume.size_bytes,
        volume_context=context_of(driver, volume),
        accessible_topology=topologies(told_topology(volume)),
    )
    if volume.source_volume:
        message.content_source.volume.volume_id = volume.source_volume
    if volume.source_snapshot:
        message.content_source.snapshot.snapshot_id = volume.source_snapshot
    return message


def snapshot_message(snapshot: SnapshotRecord) -> csi.Snapshot:
    created = Timestamp()
    created.FromDatetime(snapshot.created_at)
    return csi.Snapshot(
        snapshot_id=snapshot.id,
        source_volume_id=snapshot.volume_id,
        size_bytes=snapshot.size_bytes,
        creation_time=created,
        ready_to_use=True,
    )


async def condition_message(driver: Driver, volume: VolumeRecord) -> csi.VolumeCondition:
    condition = await driver.backend.condition(volume)
    return csi.VolumeCondition(abnormal=condition.abnormal, message=condition.message)
