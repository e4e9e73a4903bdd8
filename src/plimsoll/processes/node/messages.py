"""Requests of CSI's node service, made from what was decided."""

from collections.abc import Mapping

from plimsoll.api.quantity import parse_bytes
from plimsoll.decide.node.desired_volumes import CsiVolume
from plimsoll.decide.node.features import NodeFeatures, access_mode
from plimsoll.decide.node.paths import NodeLayout
from plimsoll.decide.node.volumes import ExpandOnNode, NodePublish, NodeStage
from plimsoll.decide.provisioning.calls import Block, Mount, VolumeCapability
from plimsoll.enact.volume_capability import capability_message
from plimsoll.wire.csi.gen import csi_pb2 as csi


def capability(
    volume: CsiVolume, features: NodeFeatures, group: int | None
) -> csi.VolumeCapability:
    mode = access_mode(volume, features).value
    if volume.is_block:
        return capability_message(VolumeCapability(mode, Block()))
    owner = str(group) if features.sets_group and group is not None else ""
    mount = Mount(volume.fs_type, volume.mount_options, owner)
    return capability_message(VolumeCapability(mode, mount))


def stage_request(
    step: NodeStage,
    layout: NodeLayout,
    capability: csi.VolumeCapability,
    secrets: Mapping[str, str],
) -> csi.NodeStageVolumeRequest:
    return csi.NodeStageVolumeRequest(
        volume_id=step.volume.device.handle,
        publish_context=dict(step.publish_context),
        staging_target_path=layout.staging_path(step.entry),
        volume_capability=capability,
        secrets=dict(secrets),
        volume_context=dict(step.volume.attributes),
    )


def publish_request(
    step: NodePublish,
    layout: NodeLayout,
    capability: csi.VolumeCapability,
    secrets: Mapping[str, str],
) -> csi.NodePublishVolumeRequest:
    """Without the volume's context: what the pod adds to it is the caller's knowledge."""
    return csi.NodePublishVolumeRequest(
        volume_id=step.volume.device.handle,
        publish_context=dict(step.publish_context),
        staging_target_path=layout.staging_path(step.staged) if step.staged else "",
        target_path=layout.target_path(step.entry),
        volume_capability=capability,
        readonly=step.volume.is_read_only,
        secrets=dict(secrets),
    )


def expand_request(
    step: ExpandOnNode,
    layout: NodeLayout,
    capability: csi.VolumeCapability,
    secrets: Mapping[str, str],
) -> csi.NodeExpandVolumeRequest:
    size = csi.CapacityRange(required_bytes=parse_bytes(step.volume.capacity))
    return csi.NodeExpandVolumeRequest(
        volume_id=step.volume.device.handle,
        volume_path=layout.target_path(step.entry),
        capacity_range=size,
        staging_target_path=layout.staging_path(step.staged) if step.staged else "",
        volume_capability=capability,
        secrets=dict(secrets),
    )
