"""What is done about a claim, in every state that it can be found in."""

import msgspec
import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.selectors.label import LabelSelectorSpec
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    MIGRATED_TO,
    PRE_RESIZE_CAPACITY,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    YES,
)
from plimsoll.decide.claims.claim import decide_claim
from plimsoll.decide.claims.operations import DecideAgain
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.plan import Patch, Plan
from plimsoll.decide.resources import CLAIMS, VOLUMES
from tests.builders import a_claim, a_class, a_pod, a_volume
from tests.decide.claims.builders import (
    VERSION,
    a_world,
    annotated_claim,
    annotated_volume,
    completed,
    events,
    in_phase,
    the_claim,
    the_volume,
)
from tests.decide.claims.world import CLAIM, look_after

IMMEDIATE = a_class(binding_mode="Immediate")
KEY = ObjectKey("default", "data")


def test_a_match_is_bound_by_four_writes_volume_first() -> None:
    world = a_world(a_claim(gib=5), a_volume(gib=10), IMMEDIATE)
    decision = decide_claim(the_claim(world), world)
    volume = ObjectKey("", "volume-1")
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": "data",
        "uid": "uid-default-data",
        "resourceVersion": VERSION,
    }
    ours = {"annotations": {BOUND_BY_CONTROLLER: YES}}
    both = {"annotations": {BOUND_BY_CONTROLLER: YES, BIND_COMPLETED: YES}}
    status = {
        "phase": "Bound",
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
    }
    assert decision.plan == Plan(
        reason=BindingReason.BOUND,
        writes=(
            Patch(
                resource=VOLUMES,
                key=volume,
                patch={"spec": {"claimRef": reference}, "metadata": ours},
                version=VERSION,
            ),
            Patch(
                resource=VOLUMES,
                key=volume,
                patch={"status": {"phase": "Bound"}},
                version=VERSION,
                subresource="status",
            ),
            Patch(
                resource=CLAIMS,
                key=KEY,
                patch={"spec": {"volumeName": "volume-1"}, "metadata": both},
                version=VERSION,
            ),
            Patch(
                resource=CLAIMS,
                key=KEY,
                patch={"status": status},
                version=VERSION,
                subresource="status",
            ),
        ),
    )


@pytest.mark.parametrize("crash_after", range(5))
def test_a_binding_that_stopped_half_way_is_finished(crash_after: int) -> None:
    world = a_world(a_claim(), a_volume(), IMMEDIATE)
    plan = decide_claim(the_claim(world), world).plan
    world.enact(_first(plan, crash_after))
    look_after(world, CLAIM, KEY)
    assert the_claim(world).spec.volume_name == "volume-1"
    assert the_claim(world).status.phase == "Bound"
    assert the_volume(world).spec.claim == KEY
    assert the_volume(world).status.phase == "Bound"
    assert len(world.writes) == 4


def _first(plan: Plan, number: int) -> Plan:
    return Plan(reason=plan.reason, writes=plan.writes[:number])


def test_a_bound_pair_is_left_alone_whatever_the_watch_says_again() -> None:
    world = a_world(a_claim(), a_volume(), IMMEDIATE)
    look_after(world, CLAIM, KEY)
    assert decide_claim(the_claim(world), world).plan.writes == ()


def test_a_volume_that_a_user_kept_for_the_claim_stays_marked_as_theirs() -> None:
    world = a_world(a_claim(), a_volume(claim=KEY), IMMEDIATE)
    look_after(world, CLAIM, KEY)
    reference = the_volume(world).spec.claim_ref
    assert reference is not None
    assert reference.uid == the_claim(world).uid
    assert BOUND_BY_CONTROLLER not in the_volume(world).annotations
    assert BOUND_BY_CONTROLLER in the_claim(world).annotations


def test_a_bound_claim_whose_volume_forgot_it_is_bound_again() -> None:
    world = a_world(completed(a_claim(volume="volume-1")), a_volume())
    look_after(world, CLAIM, KEY)
    assert the_volume(world).spec.claim == KEY
    assert the_claim(world).status.phase == "Bound"


@pytest.mark.parametrize(
    ("claim", "volume", "reason"),
    [
        pytest.param(a_claim(volume="gone"), a_volume(), "ClaimLost", id="volume-is-gone"),
        pytest.param(a_claim(), a_volume(), "ClaimLost", id="name-of-the-volume-is-gone"),
        pytest.param(
            a_claim(volume="volume-1"),
            a_volume(claim=a_claim("other")),
            "ClaimMisbound",
            id="volume-is-another-claims",
        ),
    ],
)
def test_a_bound_claim_without_its_volume_is_lost_and_told_so_once(
    claim: PersistentVolumeClaim, volume: PersistentVolume, reason: str
) -> None:
    world = a_world(completed(claim), volume, IMMEDIATE)
    look_after(world, CLAIM, KEY)
    look_after(world, CLAIM, KEY)
    assert the_claim(world).status.phase == "Lost"
    assert [(type_, why) for type_, why, _ in events(world)] == [("Warning", reason)]


def test_a_claim_waits_silently_for_the_volume_that_it_names() -> None:
    world = a_world(a_claim(volume="later"), IMMEDIATE)
    look_after(world, CLAIM, KEY)
    assert the_claim(world).status.phase == "Pending"
    assert events(world) == []


def test_a_named_volume_that_does_not_suit_is_refused() -> None:
    world = a_world(a_claim(gib=9, volume="volume-1"), a_volume(gib=1), IMMEDIATE)
    look_after(world, CLAIM, KEY)
    assert the_claim(world).status.phase == "Pending"
    message = 'Cannot bind to requested volume "volume-1": requested PV is too small'
    assert events(world) == [("Warning", "VolumeMismatch", message)]


def test_a_claim_that_names_the_volume_of_another_claim_waits() -> None:
    world = a_world(a_claim(volume="volume-1"), a_volume(claim=a_claim("other")), IMMEDIATE)
    [decision] = look_after(world, CLAIM, KEY)
    assert decision.complaint == ""
    assert the_claim(world).status.phase == "Pending"
    message = 'volume "volume-1" already bound to a different claim.'
    assert events(world) == [("Warning", "FailedBinding", message)]


def test_if_we_ourselves_bound_it_wrongly_we_complain() -> None:
    claim = annotated_claim(a_claim(volume="volume-1"), {BOUND_BY_CONTROLLER: YES})
    world = a_world(claim, a_volume(claim=a_claim("other")), IMMEDIATE)
    [decision] = look_after(world, CLAIM, KEY)
    assert 'volume already claimed by "default/other"' in decision.complaint


def test_without_a_volume_and_a_class_there_is_nothing_to_hope_for() -> None:
    world = a_world(a_claim(class_name=""))
    look_after(world, CLAIM, KEY)
    message = "no persistent volumes available for this claim and no storage class is set"
    assert events(world) == [("Normal", "FailedBinding", message)]
    assert the_claim(world).status.phase == "Pending"


def a_default_class() -> StorageClass:
    class_ = a_class("standard")
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    metadata = msgspec.structs.replace(class_.metadata, annotations=annotations)
    return msgspec.structs.replace(class_, metadata=metadata)


def test_a_default_class_that_came_later_is_given_to_claims_without_one() -> None:
    world = a_world(a_claim(class_name=None), a_default_class())
    look_after(world, CLAIM, KEY)
    assert the_claim(world).spec.storage_class_name == "standard"
    assert world.writes == ["update persistentvolumeclaims default/data"]


def test_an_empty_class_is_a_choice_and_stays() -> None:
    world = a_world(a_claim(class_name=""), a_default_class())
    look_after(world, CLAIM, KEY)
    assert the_claim(world).spec.storage_class_name == ""


@pytest.mark.parametrize(
    ("pods", "reason", "message"),
    [
        ([], "WaitForFirstConsumer", "waiting for first consumer to be created before binding"),
        (["b"], "WaitForPodScheduled", "waiting for pod b to be scheduled"),
        (["b", "a"], "WaitForPodScheduled", "waiting for pods a,b to be scheduled"),
    ],
)
def test_a_claim_with_delayed_binding_waits_for_the_scheduler(
    pods: list[str], reason: str, message: str
) -> None:
    running = a_pod("running", claims=["data"], node="node-1")
    world = a_world(
        a_claim(), a_volume(), a_class(), running, *(a_pod(name, claims=["data"]) for name in pods)
    )
    look_after(world, CLAIM, KEY)
    assert events(world) == [("Normal", reason, message)]
    assert the_volume(world).spec.claim is None


def test_the_schedulers_choice_of_a_volume_is_completed() -> None:
    world = a_world(a_claim(), a_volume(claim=a_claim()), a_class())
    look_after(world, CLAIM, KEY)
    assert the_claim(world).spec.volume_name == "volume-1"


def test_a_class_that_does_not_say_when_to_bind_is_complained_about() -> None:
    broken = msgspec.structs.replace(IMMEDIATE, volume_binding_mode=None)
    world = a_world(a_claim(), a_volume(), broken)
    [decision] = look_after(world, CLAIM, KEY)
    assert decision.complaint == 'VolumeBindingMode not set for StorageClass "fast"'
    assert world.writes == []


def test_a_volume_without_a_size_binds_but_the_claim_cannot_say_how_large_it_is() -> None:
    volume = a_volume(claim=KEY)
    spec = msgspec.structs.replace(volume.spec, capacity={})
    world = a_world(a_claim(volume="volume-1"), msgspec.structs.replace(volume, spec=spec))
    [decision] = look_after(world, CLAIM, KEY)
    assert decision.complaint == 'PersistentVolume "volume-1" is without a storage capacity'
    assert the_claim(world).status.phase == ""


def test_a_volume_whose_file_system_did_not_grow_yet_counts_as_it_was() -> None:
    volume = annotated_volume(a_volume(gib=10), {PRE_RESIZE_CAPACITY: "5Gi"})
    world = a_world(a_claim(gib=5), volume, IMMEDIATE)
    look_after(world, CLAIM, KEY)
    assert the_claim(world).status.capacity == {"storage": "5Gi"}


def test_the_size_of_a_bound_claim_is_not_touched_again() -> None:
    world = a_world(a_claim(), a_volume(gib=10), IMMEDIATE)
    look_after(world, CLAIM, KEY)
    world.documents[CLAIM, KEY]["status"]["capacity"] = {"storage": "2Gi"}
    look_after(world, CLAIM, KEY)
    assert the_claim(world).status.capacity == {"storage": "2Gi"}


def test_a_claim_of_a_plugin_that_moved_to_a_driver_says_so_first() -> None:
    claim = annotated_claim(a_claim(), {STORAGE_PROVISIONER: "kubernetes.io/aws-ebs"})
    world = a_world(claim, a_volume(), IMMEDIATE)
    first = decide_claim(the_claim(world), world)
    assert first.operation == DecideAgain()
    look_after(world, CLAIM, KEY)
    assert the_claim(world).annotations[MIGRATED_TO] == "ebs.csi.aws.com"
    assert the_claim(world).spec.volume_name == "volume-1"


def test_a_released_volume_is_not_taken() -> None:
    world = a_world(a_claim(), in_phase(a_volume(), "Released"), IMMEDIATE)
    look_after(world, CLAIM, KEY)
    assert the_claim(world).spec.volume_name == ""


def test_a_selected_node_hands_a_delayed_claim_to_its_provisioner() -> None:
    world = a_world(annotated_claim(a_claim(), {SELECTED_NODE: "node-1"}), a_class())
    look_after(world, CLAIM, KEY)
    assert [why for _, why, _ in events(world)] == ["ExternalProvisioning"]


UNREADABLE = {"matchExpressions": [{"key": "speed", "operator": "Near", "values": ["high"]}]}


@pytest.mark.parametrize(
    ("volumes", "reason"),
    [
        pytest.param([], BindingReason.FAILED_BINDING, id="no-volumes"),
        pytest.param(["ReadOnlyMany"], BindingReason.FAILED_BINDING, id="no-suitable-access-modes"),
        pytest.param(
            ["ReadWriteOnce"], BindingReason.SELECTOR_IS_INVALID, id="suitable-access-modes"
        ),
    ],
)
def test_an_unreadable_selector_matters_once_a_volume_has_suitable_access_modes(
    volumes: list[str], reason: BindingReason
) -> None:
    """Whatever else speaks against the volume, its class included."""
    claim = a_claim(class_name="")
    selector = msgspec.convert(UNREADABLE, LabelSelectorSpec)
    spec = msgspec.structs.replace(claim.spec, selector=selector)
    others = (a_volume(class_name="other", access_modes=[mode]) for mode in volumes)
    world = a_world(msgspec.structs.replace(claim, spec=spec), *others)

    assert decide_claim(the_claim(world), world).plan.reason is reason
