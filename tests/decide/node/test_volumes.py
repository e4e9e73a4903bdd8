"""The way of a volume into a pod, case by case, and then as a life."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from plimsoll.api.core import AttachedVolume, Node, NodeStatus
from plimsoll.api.meta import Condition
from plimsoll.api.pods import Pod, PodStatus
from plimsoll.api.storage import (
    AttachmentStatus,
    CSIDriver,
    CSIDriverSpec,
    TokenRequest,
    VolumeAttachment,
)
from plimsoll.api.volumes import ClaimStatus, PersistentVolumeClaim
from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.actual_state import (
    ActualState,
    PublishedPlace,
    PublishedVolume,
    StagedVolume,
)
from plimsoll.decide.node.desired_volumes import CsiVolume, OwnVolume, Unready
from plimsoll.decide.node.features import NodeFeatures
from plimsoll.decide.node.teardown import NodeUnpublish, next_teardown, unused
from plimsoll.decide.node.volumes import (
    READY,
    ExpandOnNode,
    NodePublish,
    NodeStage,
    ObservedNode,
    PrepareVolume,
    Ready,
    VolumeWaitReason,
    Wait,
    find_other_claim,
    next_step,
    waits_for_node,
)
from tests.builders import meta

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
DISK = Device("disk.example.com", "a")
VOLUME = CsiVolume(name="pv", device=DISK)
POD = Pod(metadata=meta("web", "default"), status=PodStatus(start_time=NOW))
PLACE = PublishedPlace(POD.uid, "pv")
NODE = Node(metadata=meta("node-1"))
STAGES = {"disk.example.com": NodeFeatures(stages=True, expands=True)}
UNATTACHED = CSIDriver(metadata=meta("disk.example.com"), spec=CSIDriverSpec(attach_required=False))
PLAIN_DRIVER = {"disk.example.com": UNATTACHED}
ENTRY = PublishedVolume(place=PLACE, device=DISK)
STAGED = StagedVolume(device=DISK, name="pv")


def listed(*, in_use: bool, attached: bool) -> Node:
    status = NodeStatus(
        volumes_in_use=(DISK.unique_name,) if in_use else (),
        volumes_attached=(AttachedVolume(name=DISK.unique_name),) if attached else (),
    )
    return msgspec.structs.replace(NODE, status=status)


def attachment(*, attached: bool) -> dict[str, VolumeAttachment]:
    name = DISK.attachment_name("node-1")
    status = AttachmentStatus(attached=attached, attachment_metadata={"lun": "3"})
    return {name: VolumeAttachment(metadata=meta(name), status=status)}


def test_a_pod_waits_while_the_claim_that_its_node_has_seen_is_not_the_one_that_is_there() -> None:
    seen = PersistentVolumeClaim(metadata=meta("data", "default"))
    deleted = msgspec.structs.replace(seen.metadata, deletion_timestamp=NOW)
    namesake = msgspec.structs.replace(seen.metadata, uid="another-uid")
    assert find_other_claim(seen, seen) is None
    others = [PersistentVolumeClaim(metadata=each) for each in (deleted, namesake)]
    for current in (None, *others):
        waits = find_other_claim(seen, current)
        assert waits is not None
        assert waits.why is VolumeWaitReason.VOLUME


def test_a_volume_is_staged_published_and_then_ready() -> None:
    observed = ObservedNode(node=NODE, registered=STAGES, drivers=PLAIN_DRIVER)
    assert next_step(POD, VOLUME, observed, NOW) == NodeStage(volume=VOLUME, entry=STAGED)
    staged = ActualState().with_staged(STAGED, sure=True)
    step = next_step(POD, VOLUME, with_actual(observed, staged), NOW)
    assert step == NodePublish(volume=VOLUME, entry=ENTRY, staged=staged.staged[DISK])
    done = staged.with_published(ENTRY, sure=True)
    assert next_step(POD, VOLUME, with_actual(observed, done), NOW) == READY


def with_actual(observed: ObservedNode, actual: ActualState) -> ObservedNode:
    return ObservedNode(
        node=observed.node,
        actual=actual,
        registered=observed.registered,
        drivers=observed.drivers,
        attachments=observed.attachments,
    )


def test_what_is_not_sure_is_asked_for_again() -> None:
    unsure = ActualState().with_staged(STAGED, sure=False).with_published(ENTRY, sure=False)
    observed = ObservedNode(node=NODE, actual=unsure, registered=STAGES, drivers=PLAIN_DRIVER)
    assert isinstance(next_step(POD, VOLUME, observed, NOW), NodeStage)


def test_a_driver_that_does_not_stage_is_not_asked_to() -> None:
    observed = ObservedNode(
        node=NODE, registered={DISK.driver: NodeFeatures()}, drivers=PLAIN_DRIVER
    )
    assert isinstance(next_step(POD, VOLUME, observed, NOW), NodePublish)


def test_a_volume_waits_for_its_driver() -> None:
    step = next_step(POD, VOLUME, ObservedNode(node=NODE, drivers=PLAIN_DRIVER), NOW)
    assert isinstance(step, Wait)
    assert step.why is VolumeWaitReason.DRIVER
    assert "disk.example.com not found in the list of registered CSI drivers" in step.message


@pytest.mark.parametrize(
    ("in_use", "listed_as_attached", "attached", "why"),
    [
        pytest.param(False, True, True, VolumeWaitReason.ANNOUNCEMENT, id="announce-first"),
        pytest.param(True, False, True, VolumeWaitReason.ATTACHMENT, id="not-listed"),
        pytest.param(True, True, False, VolumeWaitReason.ATTACHMENT, id="attacher-has-not-done-it"),
        pytest.param(True, True, None, VolumeWaitReason.ATTACHMENT, id="no-attachment"),
    ],
)
def test_a_device_is_touched_only_when_announced_and_attached(
    why: VolumeWaitReason, *, in_use: bool, listed_as_attached: bool, attached: bool | None
) -> None:
    observed = ObservedNode(
        node=listed(in_use=in_use, attached=listed_as_attached),
        registered=STAGES,
        attachments={} if attached is None else attachment(attached=attached),
    )
    step = next_step(POD, VOLUME, observed, NOW)
    assert isinstance(step, Wait)
    assert step.why is why
    assert not step.is_news
    late = next_step(POD, VOLUME, observed, NOW + timedelta(minutes=1))
    assert isinstance(late, Wait)
    assert late.is_news == (why is VolumeWaitReason.ATTACHMENT)


def test_what_the_attacher_said_is_passed_on() -> None:
    observed = ObservedNode(
        node=listed(in_use=True, attached=True),
        registered=STAGES,
        attachments=attachment(attached=True),
    )
    step = next_step(POD, VOLUME, observed, NOW)
    assert isinstance(step, NodeStage)
    assert step.publish_context == {"lun": "3"}


def test_inline_volumes_need_a_driver_that_says_it_serves_them() -> None:
    inline = CsiVolume(name="i", device=Device(DISK.driver, "csi-1"), is_inline=True)
    observed = ObservedNode(node=NODE, registered=STAGES, drivers=PLAIN_DRIVER)
    step = next_step(POD, inline, observed, NOW)
    assert isinstance(step, Wait)
    assert step.why is VolumeWaitReason.LIFECYCLE
    spec = CSIDriverSpec(volume_lifecycle_modes=("Ephemeral",))
    driver = {DISK.driver: CSIDriver(spec=spec)}
    willing = ObservedNode(node=NODE, registered=STAGES, drivers=driver)
    step = next_step(POD, inline, willing, NOW)
    assert isinstance(step, NodePublish)
    assert step.staged is None


def test_volumes_without_a_driver_are_prepared_once() -> None:
    own = OwnVolume(name="e", plugin="empty-dir")
    place = PublishedPlace(POD.uid, "e")
    observed = ObservedNode(node=NODE)
    assert next_step(POD, own, observed, NOW) == PrepareVolume(volume=own, place=place)
    assert next_step(POD, own, ObservedNode(node=NODE, prepared=frozenset({place})), NOW) == READY
    step = next_step(POD, Unready(name="x", message="not yet"), observed, NOW)
    assert step == Wait(why=VolumeWaitReason.VOLUME, message="not yet")


def test_a_claim_that_is_to_be_deleted_is_not_taken_from_its_pod() -> None:
    unready = Unready(name="pv", message="is being deleted")
    held = ActualState().with_published(ENTRY, sure=True)
    assert next_step(POD, unready, ObservedNode(node=NODE, actual=held), NOW) == READY
    begun = ActualState().with_published(ENTRY, sure=False)
    assert isinstance(next_step(POD, unready, ObservedNode(node=NODE, actual=begun), NOW), Wait)


def test_a_driver_that_wants_tokens_is_not_called() -> None:
    spec = CSIDriverSpec(attach_required=False, token_requests=(TokenRequest(audience="x"),))
    drivers = {DISK.driver: CSIDriver(spec=spec)}
    step = next_step(POD, VOLUME, ObservedNode(node=NODE, registered=STAGES, drivers=drivers), NOW)
    assert isinstance(step, Wait)
    assert step.why is VolumeWaitReason.TOKENS


def a_resized_claim(condition: str = "FileSystemResizePending") -> PersistentVolumeClaim:
    status = ClaimStatus(
        capacity={"storage": "1Gi"}, conditions=(Condition(type=condition, status="True"),)
    )
    return PersistentVolumeClaim(metadata=meta("data", "default"), status=status)


def test_a_published_volume_is_expanded_when_its_claim_waits_for_the_node() -> None:
    actual = ActualState().with_staged(STAGED, sure=True).with_published(ENTRY, sure=True)
    observed = ObservedNode(node=NODE, actual=actual, registered=STAGES, drivers=PLAIN_DRIVER)
    claim = a_resized_claim()
    volume = CsiVolume(name="pv", device=DISK, claim=claim, capacity="2Gi")
    step = next_step(POD, volume, observed, NOW)
    assert isinstance(step, ExpandOnNode)
    assert step.claim is claim
    done = CsiVolume(name="pv", device=DISK, claim=claim, capacity="1Gi")
    assert next_step(POD, done, observed, NOW) == READY
    idle = CsiVolume(
        name="pv", device=DISK, claim=a_resized_claim("ModifyingVolume"), capacity="2Gi"
    )
    assert next_step(POD, idle, observed, NOW) == READY


def test_a_volume_that_has_grown_stays_in_mind_until_its_driver_has_registered() -> None:
    """A node that was started again finds its pods before its drivers."""
    actual = ActualState().with_staged(STAGED, sure=True).with_published(ENTRY, sure=True)
    observed = ObservedNode(node=NODE, actual=actual, drivers=PLAIN_DRIVER)
    volume = CsiVolume(name="pv", device=DISK, claim=a_resized_claim(), capacity="2Gi")
    assert next_step(POD, volume, observed, NOW) == Ready(is_grown=False)
    done = CsiVolume(name="pv", device=DISK, claim=a_resized_claim(), capacity="1Gi")
    assert next_step(POD, done, observed, NOW) == READY


def test_newer_resizers_tell_by_a_status_that_the_node_is_waited_for() -> None:
    status = ClaimStatus(allocated_resource_statuses={"storage": "NodeResizePending"})
    assert waits_for_node(PersistentVolumeClaim(status=status))
    assert not waits_for_node(PersistentVolumeClaim())


class DevicesAreNeverPulledAway(RuleBasedStateMachine):
    """A node and an attacher that goes by the book; steps may be cut off at any point."""

    def __init__(self) -> None:
        super().__init__()
        self.actual = ActualState()
        self.in_use = self.is_listed = self.is_attached = False
        self.is_wanted = True

    def _sight(self) -> ObservedNode:
        return ObservedNode(
            node=listed(in_use=self.in_use, attached=self.is_listed),
            actual=self.actual,
            registered=STAGES,
            attachments=attachment(attached=True) if self.is_attached else {},
        )

    @precondition(lambda self: self.is_wanted)
    @rule()
    def the_node_takes_a_step(self) -> None:
        self._step(is_cut_off=False)

    @precondition(lambda self: self.is_wanted)
    @rule()
    def the_node_dies_in_a_step(self) -> None:
        self._step(is_cut_off=True)

    def _step(self, *, is_cut_off: bool) -> None:
        match next_step(POD, VOLUME, self._sight(), NOW):
            case Wait(why=VolumeWaitReason.ANNOUNCEMENT):
                self.in_use = True
            case NodeStage(entry=staged):
                self.actual = self.actual.with_staged(staged, sure=not is_cut_off)
            case NodePublish(entry=published):
                self.actual = self.actual.with_published(published, sure=not is_cut_off)
            case _:
                pass

    @rule()
    def the_pod_goes_or_comes(self) -> None:
        self.is_wanted = not self.is_wanted

    @precondition(lambda self: not self.is_wanted)
    @rule()
    def the_node_undoes_a_step(self) -> None:
        step = next_teardown(POD.uid, self.actual)
        if isinstance(step, NodeUnpublish):
            self.actual = self.actual.without_published(step.entry)
            return
        for unstage in unused(self.actual, []):
            self.actual = self.actual.without_staged(unstage.entry)
        self.in_use = bool(self.actual.devices)

    @rule()
    def the_attacher_attaches(self) -> None:
        if self.is_wanted:
            self.is_listed = self.is_attached = True

    @precondition(lambda self: not self.is_wanted and not self.in_use)
    @rule()
    def the_attacher_detaches(self) -> None:
        self.is_listed = self.is_attached = False

    @invariant()
    def nothing_is_held_without_being_attached(self) -> None:
        assert self.is_attached or not self.actual.devices

    @invariant()
    def what_is_held_is_announced(self) -> None:
        assert self.in_use or not self.actual.devices


TestDevicesAreNeverPulledAway = DevicesAreNeverPulledAway.TestCase
