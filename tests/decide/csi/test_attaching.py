from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from plimsoll.api.meta import ObjectMeta
from plimsoll.api.storage import (
    AttachmentSource,
    AttachmentSpec,
    AttachmentStatus,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    VolumeAttachment,
    VolumeError,
)
from plimsoll.api.volumes import CsiSource, PersistentVolume, SecretReference, VolumeSpec
from plimsoll.decide.csi.attaching import (
    NODE_ID,
    AttachingDriver,
    AttachmentContext,
    AttachmentReason,
    ControllerPublish,
    ControllerUnpublish,
    decide_attached,
    decide_attachment,
    decide_detached,
    decide_not_attached,
    decide_not_detached,
    decide_volume,
)
from plimsoll.decide.csi.steps import NotAsked
from plimsoll.decide.plan import NOTHING, Patch, Plan
from plimsoll.decide.provisioning.calls import CallFailed, Code, Mount, VolumeCapability
from tests.builders import a_volume, meta

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DRIVER = AttachingDriver(name="local.plimsoll.dev")
OURS = "external-attacher/local-plimsoll-dev"


def a_csi_node(driver: str = DRIVER.name) -> CSINode:
    entry = CSINodeDriver(name=driver, node_id="id-1")
    return CSINode(metadata=meta("node-1"), spec=CSINodeSpec(drivers=(entry,)))


def an_attachment(**metadata: Any) -> VolumeAttachment:
    return VolumeAttachment(
        metadata=ObjectMeta(name="a", uid="uid-a", resource_version="5", **metadata),
        spec=AttachmentSpec(
            attacher=DRIVER.name,
            node_name="node-1",
            source=AttachmentSource(persistent_volume_name="volume-1"),
        ),
    )


def a_held_volume(**metadata: Any) -> PersistentVolume:
    volume = a_volume()
    return msgspec.structs.replace(
        volume, metadata=msgspec.structs.replace(volume.metadata, **metadata)
    )


def around(**facts: Any) -> AttachmentContext:
    known: dict[str, Any] = {"driver": DRIVER, "volume": a_held_volume(), "csi_node": a_csi_node()}
    return AttachmentContext(now=NOW, **(known | facts))


def patches(plan: Plan) -> list[Any]:
    return [write.patch for write in plan.writes if isinstance(write, Patch)]


def test_both_sides_are_held_before_the_driver_is_asked() -> None:
    step = decide_attachment(an_attachment(), around())
    assert patches(step.plan) == [
        {"metadata": {"finalizers": [OURS]}},
        {"metadata": {"finalizers": [OURS], "annotations": {NODE_ID: "id-1"}}},
    ]
    assert step.call == ControllerPublish(
        handle="volume-1",
        node_id="id-1",
        capability=VolumeCapability("SINGLE_NODE_WRITER", Mount()),
    )


def test_what_is_held_already_is_not_written_again() -> None:
    held = an_attachment(finalizers=(OURS,), annotations={NODE_ID: "id-1"})
    step = decide_attachment(held, around(volume=a_held_volume(finalizers=(OURS,))))
    assert step.plan.writes == ()
    assert isinstance(step.call, ControllerPublish)


def test_read_only_is_only_asked_of_drivers_that_know_it() -> None:
    secret = SecretReference(name="keys", namespace="default")
    source = CsiSource(
        driver=DRIVER.name,
        volume_handle="h",
        read_only=True,
        volume_attributes={"a": "b"},
        controller_publish_secret_ref=secret,
    )
    spec = VolumeSpec(access_modes=("ReadWriteOnce",), csi=source)
    inline = AttachmentSpec(
        attacher=DRIVER.name, node_name="node-1", source=AttachmentSource(inline_volume_spec=spec)
    )
    attachment = msgspec.structs.replace(an_attachment(), spec=inline)
    call = decide_attachment(attachment, around(volume=None)).call
    assert isinstance(call, ControllerPublish)
    assert (call.read_only, call.context, call.secret) == (False, {"a": "b"}, secret)
    knowing = AttachingDriver(name=DRIVER.name, publishes_read_only=True)
    call = decide_attachment(attachment, around(volume=None, driver=knowing)).call
    assert isinstance(call, ControllerPublish)
    assert call.read_only


def test_a_driver_that_does_not_publish_has_its_attachments_at_once() -> None:
    step = decide_attachment(
        an_attachment(), around(driver=AttachingDriver(name=DRIVER.name, publishes=False))
    )
    assert step.call is None
    assert patches(step.plan) == [{"status": {"attached": True, "attachmentMetadata": None}}]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        pytest.param({"volume": None}, 'persistentvolume "volume-1" not found', id="no-volume"),
        pytest.param(
            {"volume": a_held_volume(deletion_timestamp=NOW)},
            'PersistentVolume "volume-1" is marked for deletion',
            id="volume-goes",
        ),
        pytest.param({"csi_node": None}, 'csinode.storage.k8s.io "node-1" not found', id="no-node"),
        pytest.param(
            {"csi_node": a_csi_node("other")},
            "CSINode node-1 does not contain driver local.plimsoll.dev",
            id="no-driver-on-node",
        ),
    ],
)
def test_what_cannot_be_attached_says_why(facts: dict[str, Any], message: str) -> None:
    step = decide_attachment(an_attachment(), around(**facts))
    assert (step.call, step.plan.reason) == (None, AttachmentReason.FAILED)
    error = {"message": message, "time": "2030-01-01T00:00:00Z"}
    assert patches(step.plan) == [{"status": {"attachError": error}}]


def test_what_is_attached_is_left_alone() -> None:
    attached = msgspec.structs.replace(an_attachment(), status=AttachmentStatus(attached=True))
    step = decide_attachment(attached, around())
    assert (step.plan, step.call) == (NOTHING, None)


def test_the_context_of_before_makes_way_for_the_new_one() -> None:
    status = AttachmentStatus(
        attachment_metadata={"old": "1"}, attach_error=VolumeError(message="no")
    )
    plan = decide_attached(msgspec.structs.replace(an_attachment(), status=status), {"lun": "7"})
    assert patches(plan) == [
        {
            "status": {
                "attached": True,
                "attachmentMetadata": {"old": None, "lun": "7"},
                "attachError": None,
            }
        }
    ]


def test_the_same_complaint_is_written_once_and_never_too_long() -> None:
    long = CallFailed(Code.INTERNAL, "ü" * 5000)
    (patch,) = patches(decide_not_attached(an_attachment(), long, NOW))
    error = patch["status"]["attachError"]
    assert error["errorCode"] == 13
    assert len(error["message"].encode()) <= 1024
    told = AttachmentStatus(attach_error=VolumeError(message=error["message"]))
    again = msgspec.structs.replace(an_attachment(), status=told)
    assert decide_not_attached(again, long, NOW).writes == ()


def test_a_node_that_is_gone_is_remembered_by_the_attachment() -> None:
    going = an_attachment(
        deletion_timestamp=NOW, finalizers=(OURS,), annotations={NODE_ID: "id-old"}
    )
    step = decide_attachment(going, around(csi_node=None))
    assert step.call == ControllerUnpublish(handle="volume-1", node_id="id-old")
    assert step.plan == NOTHING


def test_an_attachment_that_we_do_not_hold_may_go() -> None:
    step = decide_attachment(an_attachment(deletion_timestamp=NOW), around())
    assert (step.plan, step.call) == (NOTHING, None)


def test_what_cannot_be_detached_says_why() -> None:
    going = an_attachment(deletion_timestamp=NOW, finalizers=(OURS,))
    step = decide_attachment(going, around(volume=None))
    assert step.call is None
    (patch,) = patches(step.plan)
    assert patch["status"]["detachError"]["message"] == 'persistentvolume "volume-1" not found'
    (patch,) = patches(decide_not_detached(going, NotAsked("no secret"), NOW))
    assert patch["status"]["detachError"]["message"] == "no secret"


def test_the_finalizer_goes_before_the_status_changes() -> None:
    going = an_attachment(deletion_timestamp=NOW, finalizers=(OURS,))
    assert patches(decide_detached(going, DRIVER)) == [{"metadata": {"finalizers": None}}]
    held = an_attachment(deletion_timestamp=NOW, finalizers=("x/y", OURS))
    assert patches(decide_detached(held, DRIVER)) == [
        {"metadata": {"finalizers": ["x/y"]}},
        {"status": {"attached": False, "attachmentMetadata": None, "detachError": None}},
    ]


def test_a_driver_that_no_longer_publishes_lets_go() -> None:
    going = an_attachment(deletion_timestamp=NOW, finalizers=(OURS,))
    driver = AttachingDriver(name=DRIVER.name, publishes=False)
    step = decide_attachment(going, around(driver=driver))
    assert patches(step.plan) == [{"metadata": {"finalizers": None}}]


def test_a_volume_goes_when_nothing_is_attached_any_more() -> None:
    volume = a_held_volume(deletion_timestamp=NOW, finalizers=("x/y", OURS))
    assert decide_volume(volume, [an_attachment()], DRIVER) == NOTHING
    assert decide_volume(a_held_volume(finalizers=(OURS,)), [], DRIVER) == NOTHING
    assert patches(decide_volume(volume, [], DRIVER)) == [{"metadata": {"finalizers": ["x/y"]}}]


def test_a_finalizer_never_ends_in_a_dash() -> None:
    assert AttachingDriver(name="odd.").finalizer == "external-attacher/odd-X"
