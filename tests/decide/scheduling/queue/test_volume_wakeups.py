import msgspec
import pytest

from plimsoll.api.meta import ApiObject, ObjectMeta
from plimsoll.api.pods import PodVolume
from plimsoll.api.selectors.topology import TopologyTermSpec
from plimsoll.api.storage import AttachmentSpec, CSINode, VolumeAttachment
from plimsoll.api.volumes import AwsElasticBlockStore, AzureDisk, CsiSource
from plimsoll.decide.annotations import MIGRATED_PLUGINS
from plimsoll.decide.scheduling.queue.hints import Hint
from plimsoll.decide.scheduling.queue.volume_wakeups import after_add, after_delete, after_update
from plimsoll.decide.scheduling.reasons import Rule
from tests.builders import (
    DRIVER,
    ZONE,
    a_capacity,
    a_claim,
    a_class,
    a_csi_node,
    a_driver,
    a_node,
    a_pod,
    a_volume,
)
from tests.decide.scheduling.builders import a_pod_with, a_pod_with_ephemeral_volume, labelled

POD = a_pod(claims=["data"])
WAKE, LET_WAIT, NOT_CONCERNED = Hint.WAKE, Hint.LET_WAIT, Hint.NOT_CONCERNED


@pytest.mark.parametrize(
    ("rule", "new", "hint"),
    [
        (Rule.VOLUME_BINDING, a_volume(), WAKE),
        (Rule.VOLUME_BINDING, a_claim("data"), WAKE),
        (Rule.VOLUME_BINDING, a_claim("other"), LET_WAIT),
        (Rule.VOLUME_BINDING, a_claim("data", namespace="team-b"), LET_WAIT),
        (Rule.VOLUME_BINDING, a_capacity(segment={}, gib=1), WAKE),
        (Rule.VOLUME_BINDING, a_driver(), NOT_CONCERNED),
        (Rule.VOLUME_LIMITS, a_csi_node(), WAKE),
        (Rule.VOLUME_LIMITS, a_node(), NOT_CONCERNED),
        (Rule.VOLUME_RESTRICTIONS, a_node(), WAKE),
        (Rule.VOLUME_ZONE, a_class(), WAKE),
        (Rule.VOLUME_ZONE, a_class(binding_mode="Immediate"), LET_WAIT),
    ],
)
def test_new_objects_wake_pods_that_can_use_them(rule: Rule, new: ApiObject, hint: Hint) -> None:
    assert after_add(rule, POD, new).hint is hint


def test_the_claim_of_an_ephemeral_volume_wakes_its_pod() -> None:
    pod, claim = a_pod_with_ephemeral_volume(), a_claim("web-0-scratch")
    assert after_add(Rule.VOLUME_BINDING, pod, claim).hint is WAKE
    assert after_add(Rule.VOLUME_LIMITS, pod, claim).hint is WAKE
    assert after_add(Rule.VOLUME_ZONE, pod, claim).hint is LET_WAIT


def test_capacity_wakes_when_it_grows() -> None:
    one, two = (a_capacity(segment={}, gib=gib) for gib in (1, 2))
    unknown = msgspec.structs.replace(one, capacity=None)
    assert after_update(Rule.VOLUME_BINDING, POD, one, two).hint is WAKE
    assert after_update(Rule.VOLUME_BINDING, POD, unknown, one).hint is WAKE
    assert after_update(Rule.VOLUME_BINDING, POD, two, one).hint is LET_WAIT
    assert after_update(Rule.VOLUME_BINDING, POD, one, one).hint is LET_WAIT


def test_classes_nodes_and_volumes_wake_when_the_part_that_matters_changes() -> None:
    free = a_class()
    bound_to_places = msgspec.structs.replace(free, allowed_topologies=(TopologyTermSpec(),))
    assert after_update(Rule.VOLUME_BINDING, POD, free, bound_to_places).hint is WAKE
    assert after_update(Rule.VOLUME_BINDING, POD, free, free).hint is LET_WAIT
    moved = labelled(a_volume(), {ZONE: "b"})
    assert after_update(Rule.VOLUME_ZONE, POD, a_volume(), moved).hint is WAKE
    assert after_update(Rule.VOLUME_ZONE, POD, moved, moved).hint is LET_WAIT
    keeps = CSINode(metadata=ObjectMeta(name="node-1"))
    leaves = CSINode(metadata=ObjectMeta(annotations={MIGRATED_PLUGINS: "kubernetes.io/cinder"}))
    assert after_update(Rule.VOLUME_BINDING, POD, keeps, leaves).hint is WAKE
    assert after_update(Rule.VOLUME_LIMITS, POD, keeps, leaves).hint is LET_WAIT


def test_a_driver_that_stops_counting_wakes_who_uses_it_without_a_claim() -> None:
    counting = a_driver()
    relaxed = msgspec.structs.replace(counting, spec=type(counting.spec)())
    inline = a_pod_with(PodVolume(name="x", csi=CsiSource(driver=DRIVER)))
    assert after_update(Rule.VOLUME_BINDING, inline, counting, relaxed).hint is WAKE
    assert after_update(Rule.VOLUME_BINDING, inline, relaxed, counting).hint is LET_WAIT
    assert after_update(Rule.VOLUME_BINDING, POD, counting, relaxed).hint is LET_WAIT


def test_a_pod_that_ends_frees_its_disks_and_places() -> None:
    disk = PodVolume(aws_elastic_block_store=AwsElasticBlockStore(volume_id="vol-1"))
    gone = a_pod_with(disk, name="gone", node="node-1")
    assert after_delete(Rule.VOLUME_RESTRICTIONS, a_pod_with(disk), gone).hint is WAKE
    assert after_delete(Rule.VOLUME_RESTRICTIONS, POD, gone).hint is LET_WAIT
    assert after_delete(Rule.VOLUME_LIMITS, POD, gone).hint is WAKE
    assert after_delete(Rule.VOLUME_LIMITS, POD, a_pod("gone", node="node-1")).hint is LET_WAIT
    shared = a_pod("gone", claims=["data"])
    assert after_delete(Rule.VOLUME_RESTRICTIONS, POD, shared).hint is WAKE
    assert after_delete(Rule.VOLUME_LIMITS, POD, shared).hint is LET_WAIT


def test_a_detached_volume_wakes_who_might_take_its_place() -> None:
    detached = VolumeAttachment(spec=AttachmentSpec(attacher="ebs.csi.aws.com"))
    disk = PodVolume(name="x", aws_elastic_block_store=AwsElasticBlockStore(volume_id="vol-1"))
    assert after_delete(Rule.VOLUME_LIMITS, POD, detached).hint is WAKE
    assert after_delete(Rule.VOLUME_LIMITS, a_pod_with(disk), detached).hint is WAKE
    assert after_delete(Rule.VOLUME_LIMITS, a_pod(), detached).hint is LET_WAIT


def test_a_rule_that_cannot_tell_wakes_the_pod() -> None:
    senseless = PodVolume(name="x", azure_disk=AzureDisk(disk_uri="u", kind="Dedicated"))
    answer = after_delete(Rule.VOLUME_LIMITS, a_pod_with(senseless), VolumeAttachment())
    assert answer.hint is WAKE
    assert answer.complaint == (
        "converting volume(x) from inline to csi: kind(Dedicated) is not supported in csi migration"
    )
