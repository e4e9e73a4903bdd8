"""Calls become CSI's messages, answers become what decisions read."""

import pytest
from grpc import StatusCode

from plimsoll.decide.provisioning.calls import (
    AccessibilityRequirement,
    Block,
    CallFailed,
    Code,
    ContentSource,
    CreatedVolume,
    CreateVolumeCall,
    FromSnapshot,
    FromVolume,
    GetCapacityCall,
    Mount,
    VolumeCapability,
)
from plimsoll.processes.provisioner import messages
from plimsoll.wire.csi.errors import driver_error
from plimsoll.wire.csi.gen import csi_pb2 as csi

WRITER = csi.VolumeCapability.AccessMode.SINGLE_NODE_WRITER


def a_call(capability: VolumeCapability, source: ContentSource | None = None) -> CreateVolumeCall:
    return CreateVolumeCall(
        name="pvc-1",
        capacity_bytes=1024,
        capabilities=(capability,),
        parameters={"kind": "fast"},
        mutable_parameters={"iops": "5"},
        accessibility=AccessibilityRequirement(
            requisite=({"zone": "a"}, {"zone": "b"}), preferred=({"zone": "b"}, {"zone": "a"})
        ),
        content_source=source,
    )


def test_everything_that_is_known_is_sent() -> None:
    mount = VolumeCapability("SINGLE_NODE_WRITER", Mount("ext4", ("noatime",)))
    sent = messages.create_volume(a_call(mount, FromSnapshot("snap-1")), {"password": "x"})
    zones = [csi.Topology(segments={"zone": zone}) for zone in "ab"]
    assert sent == csi.CreateVolumeRequest(
        name="pvc-1",
        capacity_range=csi.CapacityRange(required_bytes=1024),
        volume_capabilities=[
            csi.VolumeCapability(
                mount=csi.VolumeCapability.MountVolume(fs_type="ext4", mount_flags=["noatime"]),
                access_mode=csi.VolumeCapability.AccessMode(mode=WRITER),
            )
        ],
        parameters={"kind": "fast"},
        mutable_parameters={"iops": "5"},
        secrets={"password": "x"},
        accessibility_requirements=csi.TopologyRequirement(
            requisite=zones, preferred=reversed(zones)
        ),
        volume_content_source=csi.VolumeContentSource(
            snapshot=csi.VolumeContentSource.SnapshotSource(snapshot_id="snap-1")
        ),
    )


def test_a_device_is_asked_for_as_a_device() -> None:
    block = VolumeCapability("SINGLE_NODE_WRITER", Block())
    sent = messages.create_volume(a_call(block, FromVolume("volume-1")), {})
    assert sent.volume_capabilities[0].HasField("block")
    assert sent.volume_content_source.volume.volume_id == "volume-1"


@pytest.mark.parametrize("segment", [None, {}, {"zone": "a"}])
def test_no_segment_is_not_the_same_as_an_empty_one(segment: dict[str, str] | None) -> None:
    call = GetCapacityCall(capabilities=(), parameters={}, segment=segment)
    sent = messages.get_capacity(call)
    assert sent.HasField("accessible_topology") == (segment is not None)
    assert dict(sent.accessible_topology.segments) == (segment or {})


@pytest.mark.parametrize("source", [None, FromSnapshot("snap-1"), FromVolume("volume-1")])
def test_what_was_made_is_read(source: ContentSource | None) -> None:
    content = messages.create_volume(
        a_call(VolumeCapability("SINGLE_NODE_WRITER", Block()), source), {}
    )
    volume = csi.Volume(
        volume_id="volume-2",
        capacity_bytes=2048,
        volume_context={"a": "b"},
        accessible_topology=[csi.Topology(segments={"zone": "a"})],
        content_source=content.volume_content_source if source else None,
    )
    assert messages.created_volume(csi.CreateVolumeResponse(volume=volume)) == CreatedVolume(
        volume_id="volume-2",
        capacity_bytes=2048,
        context={"a": "b"},
        content_source=source,
        segments=({"zone": "a"},),
    )


def test_an_answer_without_a_volume_is_a_failure() -> None:
    outcome = messages.created_volume(csi.CreateVolumeResponse())
    assert outcome == CallFailed(Code.INTERNAL, "the driver's answer names no volume")


@pytest.mark.parametrize("code", [code for code in StatusCode if code is not StatusCode.OK])
def test_every_refusal_has_its_code(code: StatusCode) -> None:
    error = driver_error(code, method="/csi.v1.Controller/CreateVolume", detail="no")
    assert messages.failed(error) == CallFailed(Code[code.name], "no")


def test_a_secret_that_a_driver_repeats_is_not_told() -> None:
    told = "login root:hunter22 failed, pin 42"
    error = driver_error(StatusCode.UNAUTHENTICATED, method="m", detail=told)
    outcome = messages.failed(error, {"password": "hunter22", "pin": "42"})
    assert outcome.message == "login root:*** failed, pin ***"
