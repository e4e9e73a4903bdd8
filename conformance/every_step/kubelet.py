"""What a kubelet does for a pod, played by the walk: a volume is used, through the driver alone."""

from pathlib import Path

from conformance.every_step.cluster import SteppedCluster
from conformance.every_step.waiting import until
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.grpc_transport import GrpcTransport

WRITER = csi.VolumeCapability.AccessMode.SINGLE_NODE_WRITER
FILE, CONTENT = "greeting", "ahoy"


async def use(cluster: SteppedCluster, driver: str, node: str, volume_id: str) -> None:
    """A pod on this node gets the volume, writes a file, and ends. Raises DriverError."""
    client = CsiClient(GrpcTransport(f"unix://{cluster.socket(driver, node)}"))
    place = cluster.directory / "pods" / volume_id
    place.mkdir(parents=True, exist_ok=True)
    try:
        await _publish(client, node, volume_id, place)
        (place / "target" / FILE).write_text(CONTENT)
        await _unpublish(client, node, volume_id, place)
    finally:
        await client.close()


async def _publish(client: CsiClient, node: str, volume_id: str, place: Path) -> None:
    wanted = csi.VolumeCapability(access_mode=csi.VolumeCapability.AccessMode(mode=WRITER))
    wanted.mount.SetInParent()
    attached = await client.call(
        m.CONTROLLER_PUBLISH_VOLUME,
        csi.ControllerPublishVolumeRequest(
            volume_id=volume_id, node_id=node, volume_capability=wanted
        ),
    )
    await client.call(
        m.NODE_STAGE_VOLUME,
        csi.NodeStageVolumeRequest(
            volume_id=volume_id,
            staging_target_path=str(place / "staging"),
            volume_capability=wanted,
            publish_context=attached.publish_context,
        ),
    )
    await client.call(
        m.NODE_PUBLISH_VOLUME,
        csi.NodePublishVolumeRequest(
            volume_id=volume_id,
            staging_target_path=str(place / "staging"),
            target_path=str(place / "target"),
            volume_capability=wanted,
            publish_context=attached.publish_context,
        ),
    )


async def _unpublish(client: CsiClient, node: str, volume_id: str, place: Path) -> None:
    await client.call(
        m.NODE_UNPUBLISH_VOLUME,
        csi.NodeUnpublishVolumeRequest(volume_id=volume_id, target_path=str(place / "target")),
    )
    await client.call(
        m.NODE_UNSTAGE_VOLUME,
        csi.NodeUnstageVolumeRequest(
            volume_id=volume_id, staging_target_path=str(place / "staging")
        ),
    )
    await client.call(
        m.CONTROLLER_UNPUBLISH_VOLUME,
        csi.ControllerUnpublishVolumeRequest(volume_id=volume_id, node_id=node),
    )


async def volumes_of(cluster: SteppedCluster, driver: str) -> list[str]:
    """The ids of all that the driver has, as it says itself. Raises DriverError."""
    client = CsiClient(GrpcTransport(f"unix://{cluster.socket(driver, 'node-a')}"))
    try:
        answer = await client.call(m.LIST_VOLUMES, csi.ListVolumesRequest())
    finally:
        await client.close()
    return sorted(entry.volume.volume_id for entry in answer.entries)


async def has_made(cluster: SteppedCluster, driver: str) -> bool:
    """Whether the driver has a volume; not while it is down."""
    try:
        return bool(await volumes_of(cluster, driver))
    except DriverError:
        return False


def is_written(cluster: SteppedCluster, driver: str, volume_id: str) -> bool:
    """Whether the file that a pod wrote is where the driver keeps the volume."""
    kept = cluster.driver_dir(driver) / "volumes" / volume_id / FILE
    return kept.exists() and kept.read_text() == CONTENT


async def is_answering(cluster: SteppedCluster, driver: str) -> bool:
    client = CsiClient(GrpcTransport(f"unix://{cluster.socket(driver, 'node-a')}"))
    try:
        await client.call(m.PROBE, csi.ProbeRequest())
    except DriverError:
        return False
    finally:
        await client.close()
    return True


async def use_if_there(cluster: SteppedCluster, driver: str, node: str, volume_id: str) -> str:
    """The id of the volume; empty: the driver has no such volume any more."""
    await until(f"{driver} answers", lambda: is_answering(cluster, driver))
    try:
        await use(cluster, driver, node, volume_id)
    except DriverError as error:
        if error.failure is not DriverFailure.NOT_FOUND:
            raise
        return ""
    return volume_id


async def delete(cluster: SteppedCluster, driver: str, node: str, volume_id: str) -> None:
    client = CsiClient(GrpcTransport(f"unix://{cluster.socket(driver, node)}"))
    try:
        await client.call(m.DELETE_VOLUME, csi.DeleteVolumeRequest(volume_id=volume_id))
    finally:
        await client.close()
