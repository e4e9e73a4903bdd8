"""Calls as decisions describe them, as CSI's messages, and the answers back."""

from collections.abc import Mapping

from google.protobuf.json_format import MessageToDict, ParseDict, ParseError

from plimsoll.api.registry import Document
from plimsoll.decide.provisioning.calls import (
    AccessibilityRequirement,
    CallFailed,
    Code,
    ContentSource,
    CreatedVolume,
    CreateOutcome,
    CreateVolumeCall,
    FromSnapshot,
    FromVolume,
    GetCapacityCall,
    Segment,
)
from plimsoll.enact.volume_capability import capability_message
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.redaction import without_secrets

Secrets = Mapping[str, str]
"""The content of a Secret, for the moment of one call."""
NO_SECRETS: Secrets = {}


def create_volume(call: CreateVolumeCall, secrets: Secrets) -> csi.CreateVolumeRequest:
    return csi.CreateVolumeRequest(
        name=call.name,
        capacity_range=csi.CapacityRange(required_bytes=call.capacity_bytes),
        volume_capabilities=[capability_message(each) for each in call.capabilities],
        parameters=call.parameters,
        mutable_parameters=call.mutable_parameters,
        secrets=secrets,
        accessibility_requirements=_requirement(call.accessibility),
        volume_content_source=_source(call.content_source),
    )


def record_of(call: CreateVolumeCall) -> Document:
    """The request as CSI writes it in JSON; secrets are not part of it."""
    document: Document = MessageToDict(create_volume(call, NO_SECRETS))
    return document


def recorded_request(record: Document, secrets: Secrets) -> csi.CreateVolumeRequest:
    request = csi.CreateVolumeRequest()
    ParseDict(record, request)
    request.secrets.update(secrets)
    return request


def is_request(record: Document) -> bool:
    """Whether it can be called again: it may have been stored by another hand."""
    try:
        recorded_request(record, NO_SECRETS)
    except ParseError:
        return False
    return True


def get_capacity(call: GetCapacityCall) -> csi.GetCapacityRequest:
    return csi.GetCapacityRequest(
        volume_capabilities=[capability_message(each) for each in call.capabilities],
        parameters=call.parameters,
        accessible_topology=None if call.segment is None else _topology(call.segment),
    )


def created_volume(answer: csi.CreateVolumeResponse) -> CreateOutcome:
    volume = answer.volume
    if not volume.volume_id:
        # Nothing that could be stored, used or deleted.
        return CallFailed(Code.INTERNAL, "the driver's answer names no volume")
    return CreatedVolume(
        volume_id=volume.volume_id,
        capacity_bytes=volume.capacity_bytes,
        context=dict(volume.volume_context),
        content_source=_source_of(volume),
        segments=tuple(dict(topology.segments) for topology in volume.accessible_topology),
    )


def failed(error: DriverError, secrets: Secrets = NO_SECRETS) -> CallFailed:
    """What a driver says is told to users: without the secrets that it was given."""
    return CallFailed(Code[error.code], without_secrets(error.detail, secrets))


def _topology(segment: Segment) -> csi.Topology:
    return csi.Topology(segments=segment)


def _requirement(wanted: AccessibilityRequirement | None) -> csi.TopologyRequirement | None:
    if wanted is None:
        return None
    return csi.TopologyRequirement(
        requisite=map(_topology, wanted.requisite), preferred=map(_topology, wanted.preferred)
    )


def _source(source: ContentSource | None) -> csi.VolumeContentSource | None:
    match source:
        case None:
            return None
        case FromSnapshot(snapshot_id):
            snapshot = csi.VolumeContentSource.SnapshotSource(snapshot_id=snapshot_id)
            return csi.VolumeContentSource(snapshot=snapshot)
        case FromVolume(volume_id):
            volume = csi.VolumeContentSource.VolumeSource(volume_id=volume_id)
            return csi.VolumeContentSource(volume=volume)


def _source_of(volume: csi.Volume) -> ContentSource | None:
    if not volume.HasField("content_source"):
        return None
    if volume.content_source.HasField("snapshot"):
        return FromSnapshot(volume.content_source.snapshot.snapshot_id)
    if volume.content_source.HasField("volume"):
        return FromVolume(volume.content_source.volume.volume_id)
    return None
