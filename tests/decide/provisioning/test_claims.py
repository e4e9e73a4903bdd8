from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.plan import Emit, Patch
from plimsoll.decide.provisioning.calls import CallFailed, Code
from plimsoll.decide.provisioning.claims import after_obstacle, after_unread, decide_claim
from plimsoll.decide.provisioning.failures import Problem, ProvisioningState
from plimsoll.decide.provisioning.settings import ProvisionerMode
from plimsoll.decide.provisioning.steps import (
    NOTHING_KNOWN,
    ClaimMemory,
    Delay,
    Ignore,
    IgnoreReason,
    Prepare,
    ProvisioningRecord,
    Refuse,
    Reschedule,
    SlowRetry,
)
from tests.builders import ZONE
from tests.decide.provisioning.builders import (
    CLAIM,
    NAME,
    ON_NODE,
    SETTINGS,
    UID,
    a_claim_document,
    a_class_document,
    a_volume_document,
    a_world,
    annotate,
    claim_in,
    messages,
    reasons,
    volumes_in,
)
from tests.decide.provisioning.world import CLAIMS, CLASSES, NOW, VOLUMES, End, World

COMPATIBLE = replace(SETTINGS, mode=ProvisionerMode.COMPATIBLE)


def ignored(end: End) -> IgnoreReason:
    assert isinstance(end, Ignore), end
    return end.reason


def problem(end: End) -> Problem:
    assert isinstance(end, Refuse | Reschedule), end
    return end.failure.problem


def test_a_claim_gets_a_volume() -> None:
    world = a_world()

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)
    assert volumes_in(world) == [NAME]
    assert messages(world) == [
        'Normal Provisioning: External provisioner is provisioning volume for claim "default/data"',
        f"Normal ProvisioningSucceeded: Successfully provisioned volume {NAME}",
    ]


def test_a_claim_that_waits_for_a_pod_waits_for_its_node() -> None:
    world = a_world()
    annotate(claim_in(world), selected_node="")

    assert ignored(world.provision(CLAIM)) is IgnoreReason.NO_NODE_SELECTED
    assert world.events == []


def test_a_claim_that_waits_for_no_pod_needs_no_node() -> None:
    world = a_world(class_=a_class_document(volumeBindingMode="Immediate"))
    annotate(claim_in(world), selected_node=None)

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)


def test_an_older_annotation_counts_only_where_the_newer_is_missing() -> None:
    world = a_world()
    older = "volume.beta.kubernetes.io/storage-provisioner"
    claim_in(world)["metadata"]["annotations"][older] = "other"

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)
    annotate(claim_in(world), provisioner=None)
    assert ignored(world.provision(CLAIM)) is IgnoreReason.OTHER_PROVISIONER


def test_a_class_of_another_driver_is_not_ours_to_provision() -> None:
    world = a_world(class_=a_class_document(provisioner="other"))

    assert ignored(world.provision(CLAIM)) is IgnoreReason.CLASS_OF_OTHER_PROVISIONER


def test_a_volume_is_made_once() -> None:
    world = a_world()
    world.provision(CLAIM)

    assert ignored(world.provision(CLAIM)) is IgnoreReason.PROVISIONED_ALREADY
    assert len(world.driver.created) == 1


def test_a_volume_is_made_once_whatever_its_name_begins_with() -> None:
    world = a_world(settings=replace(SETTINGS, volume_name_prefix="disk"))
    world.provision(CLAIM)

    assert ignored(world.provision(CLAIM)) is IgnoreReason.PROVISIONED_ALREADY


def test_csi_provisioner_looks_for_the_default_name_only() -> None:
    world = a_world(settings=replace(COMPATIBLE, volume_name_prefix="disk"))
    world.provision(CLAIM)

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)


def test_a_name_that_another_claims_volume_has_is_not_asked_for() -> None:
    world = a_world()
    world.add(VOLUMES, a_volume_document(claimRef={"name": "other", "uid": "other"}))

    assert problem(world.provision(CLAIM)) is Problem.VOLUME_NAME_TAKEN
    assert world.driver.created == []


def test_a_populators_claim_is_left_alone_with_a_word() -> None:
    source = {"apiGroup": "example.org", "kind": "Hello", "name": "world"}
    world = a_world(claim=a_claim_document(dataSource=source))

    assert ignored(world.provision(CLAIM)) is IgnoreReason.POPULATOR
    assert messages(world)[1:] == [
        "Normal Provisioning: Assuming an external populator will provision the volume"
    ]


def test_a_claim_that_is_being_deleted_still_gets_its_volume() -> None:
    world = a_world()
    claim_in(world)["metadata"] |= {
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["kubernetes.io/pvc-protection"],
    }

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)


def test_a_node_that_the_driver_does_not_know_is_given_back_to_the_scheduler() -> None:
    world = a_world()
    annotate(claim_in(world), selected_node="node-x")

    assert problem(world.provision(CLAIM)) is Problem.NODE_NOT_FOUND
    assert SELECTED_NODE not in claim_in(world)["metadata"]["annotations"]
    assert reasons(world) == ["Normal Provisioning", "Warning ProvisioningFailed"]


def test_an_alpha_annotation_is_respected_where_no_node_is_needed() -> None:
    world = a_world(class_=a_class_document(volumeBindingMode="Immediate"))
    annotate(claim_in(world), selected_node=None)
    annotations = claim_in(world)["metadata"]["annotations"]
    annotations["volume.alpha.kubernetes.io/selected-node"] = "node-x"

    end = world.provision(CLAIM)

    assert problem(end) is Problem.NODE_NOT_FOUND
    assert isinstance(end, Refuse), "no scheduler would select another node"


def test_a_secret_that_cannot_be_read_is_waited_for_and_named() -> None:
    parameters = {
        "csi.storage.k8s.io/provisioner-secret-name": "missing",
        "csi.storage.k8s.io/provisioner-secret-namespace": "vault",
    }
    world = a_world(class_=a_class_document(parameters=parameters))

    end = world.provision(CLAIM)

    assert problem(end) is Problem.SECRET_NOT_FOUND
    assert "error getting secret missing in namespace vault" in messages(world)[-1]
    assert world.driver.created == []


def test_a_mark_that_cannot_be_set_ends_the_attempt_without_change() -> None:
    world = a_world()
    step = decide_claim(world.claim(CLAIM), NOTHING_KNOWN, world.context)
    assert isinstance(step, Prepare)

    end = after_obstacle(step, "the object has been modified")

    assert isinstance(end, Refuse)
    assert end.failure.state is ProvisioningState.NO_CHANGE
    assert all(isinstance(write, Emit) for write in end.plan.writes)


def test_a_source_is_marked_before_anything_is_asked() -> None:
    source = {"kind": "PersistentVolumeClaim", "name": "source"}
    world = a_world(claim=a_claim_document(dataSource=source))
    cloned = a_claim_document(volumeName="disk") | {"status": {"phase": "Bound"}}
    cloned["metadata"] |= {"name": "source", "uid": "source-uid"}
    world.add(CLAIMS, cloned)
    reference = {"namespace": "default", "name": "source", "uid": "source-uid"}
    disk = a_volume_document(claimRef=reference) | {"status": {"phase": "Bound"}}
    disk["metadata"]["name"] = "disk"
    world.add(VOLUMES, disk)

    step = decide_claim(world.claim(CLAIM), NOTHING_KNOWN, world.context)

    assert isinstance(step, Prepare)
    announced, marked = step.plan.writes
    assert isinstance(announced, Emit)
    assert isinstance(marked, Patch)
    assert marked.key.name == "source"


# Slow retries


def slow(world: World, **memory: Any) -> World:
    retry = SlowRetry(until=NOW + timedelta(minutes=5), class_uid="class-uid")
    world.memory = ClaimMemory(slow_retry=retry, **memory)
    return world


def test_a_senseless_request_is_not_repeated_at_once() -> None:
    world = slow(a_world())

    end = world.provision(CLAIM)

    assert isinstance(end, Delay)
    assert end.until == NOW + timedelta(minutes=5)
    assert world.events == []


def test_it_is_repeated_when_its_time_has_come() -> None:
    world = slow(a_world())
    world.now += timedelta(minutes=5)

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)
    assert world.memory == NOTHING_KNOWN


def test_it_is_repeated_when_a_new_class_was_made() -> None:
    world = slow(a_world(class_=a_class_document(metadata={"name": "fast", "uid": "new"})))

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)


# What may still be going on at the driver


def timed_out(world: World) -> World:
    made, world.driver.create = world.driver.create, CallFailed(Code.DEADLINE_EXCEEDED)
    world.provision(CLAIM)
    world.driver.create = made
    world.events = []
    return world


def test_the_same_is_asked_again_although_another_node_was_selected() -> None:
    world = timed_out(a_world())
    annotate(claim_in(world), selected_node="node-2")

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)
    first, second, third = (call for call, _ in world.driver.created)
    assert first == second, "only this tells what came of it"
    assert third.accessibility is not None
    assert third.accessibility.preferred[0] == {ZONE: "b"}


def test_what_was_made_for_a_claim_that_is_gone_is_deleted() -> None:
    world = timed_out(a_world())
    del world.documents[CLAIMS, CLAIM]

    assert ignored(world.provision(CLAIM)) is IgnoreReason.ROLLED_BACK
    assert [call.volume_id for call, _ in world.driver.deleted] == ["disk-1"]
    assert volumes_in(world) == []
    assert ignored(world.provision(CLAIM)) is IgnoreReason.GONE


def test_csi_provisioner_records_what_was_made_for_a_claim_that_is_gone() -> None:
    world = timed_out(a_world(settings=COMPATIBLE))
    del world.documents[CLAIMS, CLAIM]

    assert isinstance(world.provision(CLAIM), ProvisioningRecord)
    assert volumes_in(world) == [NAME]
    assert reasons(world) == ["Normal Provisioning"]


def test_a_problem_before_the_call_does_not_end_an_earlier_one() -> None:
    world = timed_out(a_world())
    bad = {"csi.storage.k8s.io/typo": "x"}
    world.add(CLASSES, a_class_document(parameters=bad))

    assert problem(world.provision(CLAIM)) is Problem.UNKNOWN_PARAMETER
    assert world.memory.in_progress is not None


def test_csi_provisioner_forgets_a_claim_after_a_final_problem_of_any_kind() -> None:
    world = timed_out(a_world(settings=COMPATIBLE))
    world.add(CLASSES, a_class_document(parameters={"csi.storage.k8s.io/typo": "x"}))

    world.provision(CLAIM)

    assert world.memory.in_progress is None


# On one node


def test_a_provisioner_on_a_node_serves_the_claims_of_that_node_alone() -> None:
    world = a_world(settings=ON_NODE)

    annotate(claim_in(world), selected_node="node-2")
    assert ignored(world.provision(CLAIM)) is IgnoreReason.OTHER_NODE
    annotate(claim_in(world), selected_node="node-1")
    assert isinstance(world.provision(CLAIM), ProvisioningRecord)


@pytest.mark.parametrize("length", [0, 4])
def test_a_short_name_is_refused_once_two_claims_would_share_it(length: int) -> None:
    world = a_world(settings=replace(SETTINGS, volume_name_uuid_length=length))
    twin = a_claim_document()
    twin["metadata"] |= {"name": "twin", "uid": f"{UID[:4]}9999-0000"}
    world.add(CLAIMS, twin)
    world.provision(CLAIM)

    end = world.provision(type(CLAIM)("default", "twin"))

    assert problem(end) is Problem.VOLUME_NAME_TAKEN
    assert len(volumes_in(world)) == 1


def test_what_cannot_be_read_is_told_and_nothing_is_forgotten() -> None:
    claim = from_document(PersistentVolumeClaim, a_claim_document())
    memory = ClaimMemory(in_progress=claim)

    step = after_unread(claim, memory, "not allowed")

    assert isinstance(step, Refuse)
    assert step.failure.message == "what the claim refers to cannot be read: not allowed"
    assert step.memory == memory
