"""What is done next for a rollback, whatever the server has by then."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import RETAINED_BY, ROLLBACK, ROLLING_BACK
from plimsoll.decide.plan import Create, Delete, Emit, Patch, Plan, Write
from plimsoll.decide.rollback.records import RollbackState, UnusedProof
from plimsoll.decide.rollback.steps import (
    CheckProof,
    DeleteAsset,
    Doubt,
    End,
    EnterState,
    LeaveAlone,
    MakeWrites,
    RollbackStep,
    WaitForClaim,
    after_deletion,
    after_proof,
    next_step,
)
from tests.builders import a_pod
from tests.decide.rollback.unused import (
    a_record,
    a_view,
    a_waiting_pod,
    an_unused_claim,
    an_unused_volume,
    annotated,
    deleting,
    with_metadata,
    with_spec,
)

RECORD = a_record()
RELEASING = a_record(state=RollbackState.RELEASING)
WATCHED = a_record(state=RollbackState.RELEASING, proof=UnusedProof.WATCHED, watch="w")
DELETING = a_record(state=RollbackState.DELETING)
USER = a_pod("writer", claims=["data"], node="node-a")


def retained() -> PersistentVolume:
    volume = annotated(an_unused_volume(), RETAINED_BY, RECORD.name)
    volume = with_spec(volume, persistent_volume_reclaim_policy="Retain")
    return with_metadata(volume, finalizers=("theirs", ROLLBACK), resource_version="6")


def marked() -> PersistentVolumeClaim:
    return annotated(an_unused_claim(), ROLLING_BACK, RECORD.name)


def namesake(**spec: Any) -> PersistentVolumeClaim:
    return with_spec(with_metadata(an_unused_claim(), uid="another"), volume_name="", **spec)


def writes(step: RollbackStep) -> list[Write]:
    assert isinstance(step, MakeWrites | End | WaitForClaim)
    return [write for write in step.plan.writes if not isinstance(write, Emit)]


def only(step: RollbackStep) -> Write:
    (write,) = writes(step)
    return write


def reasons(plan: Plan | None) -> list[str]:
    assert plan is not None
    return [write.reason for write in plan.writes if isinstance(write, Emit)]


# In order


def test_first_the_volume_is_made_to_outlive_its_claim_if_it_is_the_one_that_was_seen() -> None:
    write = only(next_step(RECORD, a_view()))
    assert isinstance(write, Patch)
    assert (write.version, write.uid) == ("5", RECORD.volume_uid)
    assert write.patch == {
        "metadata": {
            "annotations": {RETAINED_BY: RECORD.name},
            "finalizers": ["theirs", ROLLBACK],
        },
        "spec": {"persistentVolumeReclaimPolicy": "Retain"},
    }


def test_then_the_claim_is_marked_and_then_the_state_is_entered() -> None:
    write = only(next_step(RECORD, a_view(volume=retained())))
    assert isinstance(write, Patch)
    assert write.patch == {"metadata": {"annotations": {ROLLING_BACK: RECORD.name}}}
    step = next_step(RECORD, a_view(volume=retained(), claim=marked()))
    assert step == EnterState(state=RollbackState.RELEASING)


def test_then_pod_claim_and_volume_are_deleted_each_only_as_it_was_seen() -> None:
    view = a_view(volume=retained(), claim=marked())
    pod = only(next_step(RELEASING, view))
    assert isinstance(pod, Delete)
    assert (pod.key.name, pod.uid, pod.version) == ("web-0", RECORD.pod_uid, "9")
    claim = only(next_step(RELEASING, a_view(volume=retained(), claim=marked(), pods=())))
    assert isinstance(claim, Delete)
    assert (claim.key.name, claim.uid, claim.version) == ("data", RECORD.claim_uid, "7")
    volume = only(next_step(RELEASING, a_view(volume=retained(), claim=None, claims=())))
    assert isinstance(volume, Delete)
    assert (volume.uid, volume.version) == (RECORD.volume_uid, "6")


def test_a_pod_that_no_owner_replaces_stays() -> None:
    record = msgspec.structs.replace(RELEASING, deletes_pod=False)
    claim = only(next_step(record, a_view(volume=retained(), claim=marked())))
    assert isinstance(claim, Delete)
    assert claim.key.name == "data"


def test_a_claim_that_a_finalizer_holds_is_waited_for_and_that_is_told() -> None:
    for finalizer, told in (("kubernetes.io/pvc-protection", 0), ("backup.example.com/own", 1)):
        leaving = with_metadata(deleting(marked()), finalizers=(finalizer,))
        step = next_step(RELEASING, a_view(volume=retained(), claim=leaving))
        assert isinstance(step, WaitForClaim)
        assert reasons(step.plan) == ["RollbackWaits"] * told


def test_a_claim_that_a_pod_holds_is_waited_for_and_that_is_told() -> None:
    gone = deleting(marked())
    step = next_step(RELEASING, a_view(volume=retained(), claim=gone))
    assert isinstance(step, WaitForClaim)
    assert step.plan.writes == ()
    held = next_step(RELEASING, a_view(volume=retained(), claim=gone, pods=[USER]))
    assert isinstance(held, WaitForClaim)
    assert reasons(held.plan) == ["RollbackWaits"]


@pytest.mark.parametrize("claim", [None, namesake()], ids=["none", "of its controller"])
def test_then_it_is_proven_that_no_pod_used_the_volume(claim: PersistentVolumeClaim | None) -> None:
    view = a_view(volume=deleting(retained()), claim=claim, claims=())
    assert next_step(RELEASING, view) == CheckProof()
    assert after_proof(RELEASING, view, None) == EnterState(state=RollbackState.DELETING)
    assert after_proof(WATCHED, view, None) == EnterState(state=RollbackState.DELETING)


def test_then_the_driver_is_asked_our_finalizer_goes_and_the_claim_is_made_anew() -> None:
    volume = deleting(retained())
    assert next_step(DELETING, a_view(volume=volume, claim=None)) == DeleteAsset()
    released = only(after_deletion(volume))
    assert isinstance(released, Patch)
    assert released.patch == {"metadata": {"finalizers": ["theirs"]}}
    for left in (None, with_metadata(volume, finalizers=("theirs",))):
        created = only(next_step(DELETING, a_view(volume=left, claim=None)))
        assert isinstance(created, Create)
        assert created.document["spec"] == RECORD.claim["spec"]
        audit = created.document["metadata"]["annotations"]["plimsoll.dev/rolled-back"]
        assert RECORD.volume_name in audit


def test_a_claim_that_is_there_again_is_not_made_twice() -> None:
    end = next_step(DELETING, a_view(volume=None, claim=namesake()))
    assert isinstance(end, End)
    assert writes(end) == []
    left = msgspec.structs.replace(DELETING, recreates_claim=False)
    assert writes(next_step(left, a_view(volume=None, claim=None))) == []


# Doubts before the volume object is deleted


PUT_BACK = {
    "metadata": {"annotations": {RETAINED_BY: None}, "finalizers": ["theirs"]},
    "spec": {"persistentVolumeReclaimPolicy": "Delete"},
}


@pytest.mark.parametrize("record", [RECORD, RELEASING], ids=["retaining", "releasing"])
def test_a_pod_with_a_node_that_reaches_the_volume_puts_everything_back(record: Any) -> None:
    step = next_step(record, a_view(volume=retained(), claim=marked(), pods=[USER]))
    assert isinstance(step, End)
    assert step.is_put_back
    assert [w.patch for w in writes(step) if isinstance(w, Patch)] == [
        PUT_BACK,
        {"metadata": {"annotations": {ROLLING_BACK: None}}},
    ]
    assert reasons(step.plan) == ["RollbackPutBack"]


@pytest.mark.parametrize("record", [RECORD, RELEASING], ids=["retaining", "releasing"])
def test_a_volume_that_another_writer_has_taken_over_keeps_what_it_says(record: Any) -> None:
    theirs = annotated(retained(), RETAINED_BY, "another")
    step = next_step(record, a_view(volume=theirs, claim=marked()))
    assert isinstance(step, End)
    touched = [w for w in writes(step) if isinstance(w, Patch) and w.key.name == theirs.name]
    # Only our finalizer goes, which would hold the volume for ever.
    assert [w.patch for w in touched] == [{"metadata": {"finalizers": ["theirs"]}}]


def test_a_volume_that_changed_before_it_was_retained_is_not_touched() -> None:
    changed = with_metadata(an_unused_volume(), resource_version="6")
    step = next_step(RECORD, a_view(volume=changed))
    assert isinstance(step, End)
    assert writes(step) == []


def test_a_user_who_deletes_the_claim_first_gets_what_they_asked_for() -> None:
    """The policy is Delete again, the claim is not made anew: its provisioner does the rest."""
    step = next_step(RECORD, a_view(volume=retained(), claim=None, claims=()))
    assert [w.patch for w in writes(step) if isinstance(w, Patch)] == [PUT_BACK]


def test_a_used_volume_whose_claim_is_gone_gets_its_claim_back() -> None:
    step = next_step(RELEASING, a_view(volume=retained(), claim=None, claims=(), pods=[USER]))
    created = only(step)
    assert isinstance(created, Create)
    assert created.document["spec"]["volumeName"] == RECORD.volume_name


def test_a_claim_that_asks_for_the_volume_gets_it_also_after_a_crash_in_between() -> None:
    asking = with_spec(namesake(), volume_name=RECORD.volume_name)
    step = next_step(RELEASING, a_view(volume=retained(), claim=asking, claims=()))
    kept = only(step)
    assert isinstance(kept, Patch)
    assert kept.patch == {"spec": {"claimRef": {"uid": None, "resourceVersion": None}}}


def test_a_volume_that_is_given_back_gets_its_policy_only_when_it_is_bound_again() -> None:
    """Before that its provisioner would delete it: it is released."""
    asking = with_spec(namesake(), volume_name=RECORD.volume_name)
    reference = retained().spec.claim_ref
    assert reference is not None

    def step(uid: str, phase: str) -> RollbackStep:
        volume = with_spec(retained(), claim_ref=replace(reference, uid=uid))
        volume = replace(volume, status=replace(volume.status, phase=phase))
        return next_step(RELEASING, a_view(volume=volume, claim=asking, claims=(), pods=[USER]))

    for phase in ("Released", "Available", "Bound"):
        assert step("", phase) == WaitForClaim(plan=Plan(reason="RollbackPutBack"))
    assert step(asking.uid, "Released") == WaitForClaim(plan=Plan(reason="RollbackPutBack"))
    end = step(asking.uid, "Bound")
    assert isinstance(end, End)
    assert [w.patch for w in writes(end) if isinstance(w, Patch)] == [PUT_BACK]
    assert reasons(end.plan) == ["RollbackPutBack"]


# Doubts after it


def test_a_volume_without_proof_is_kept_and_the_claim_made_anew() -> None:
    view = a_view(volume=deleting(retained()), claim=None, claims=(), pods=())
    step = after_proof(WATCHED, view, Doubt(why="the watch is gone"))
    assert isinstance(step, EnterState)
    assert (step.state, step.was_used) == (RollbackState.KEPT, False)
    assert reasons(step.plan) == ["RollbackKeptVolume", "RollbackKeptVolume"]
    kept = msgspec.structs.replace(WATCHED, state=RollbackState.KEPT)
    assert isinstance(only(next_step(kept, view)), Create)


def test_a_used_volume_is_kept_and_no_empty_one_takes_its_place() -> None:
    view = a_view(volume=deleting(retained()), claim=None, claims=(), pods=[USER])
    step = after_proof(WATCHED, view, None)
    assert isinstance(step, EnterState)
    assert (step.state, step.was_used) == (RollbackState.KEPT, True)
    kept = msgspec.structs.replace(WATCHED, state=RollbackState.KEPT, was_used=True)
    assert next_step(kept, view) == LeaveAlone()
    assert writes(next_step(kept, a_view(volume=None, claim=None))) == []


@pytest.mark.parametrize(
    "volume",
    [
        pytest.param(retained(), id="not being deleted"),
        pytest.param(deleting(annotated(retained(), RETAINED_BY, "another")), id="of another"),
        pytest.param(
            deleting(with_spec(retained(), persistent_volume_reclaim_policy="Delete")),
            id="another policy",
        ),
    ],
)
def test_a_record_by_itself_authorises_no_deletion(volume: PersistentVolume) -> None:
    step = next_step(DELETING, a_view(volume=volume, claim=None))
    assert isinstance(step, EnterState)
    assert step.state is RollbackState.KEPT


def test_a_record_authorises_no_deletion_of_another_volume_of_the_driver() -> None:
    forged = msgspec.structs.replace(DELETING, volume_id="another")
    step = next_step(forged, a_view(volume=deleting(retained()), claim=None))
    assert isinstance(step, EnterState)
    assert step.state is RollbackState.KEPT


VOLUMES = [None, an_unused_volume(), retained(), deleting(retained()), deleting(an_unused_volume())]
CLAIMS = [None, an_unused_claim(), marked(), deleting(marked()), namesake()]


@given(
    state=st.sampled_from(RollbackState),
    proof=st.sampled_from(UnusedProof),
    volume=st.sampled_from(VOLUMES),
    claim=st.sampled_from(CLAIMS),
    pods=st.lists(st.sampled_from([a_waiting_pod(), USER]), unique_by=lambda pod: pod.name),
)
def test_the_driver_is_asked_only_for_what_is_retained_deleted_and_decided(
    *,
    state: RollbackState,
    proof: UnusedProof,
    volume: PersistentVolume | None,
    claim: PersistentVolumeClaim | None,
    pods: list[Any],
) -> None:
    record = a_record(state=state, proof=proof)
    step = next_step(record, a_view(volume=volume, claim=claim, pods=pods))
    if isinstance(step, DeleteAsset):
        assert state is RollbackState.DELETING
        assert volume == deleting(retained())
    is_used = USER in pods
    for write in getattr(getattr(step, "plan", None), "writes", ()):
        if isinstance(write, Delete):
            assert state is RollbackState.RELEASING
            assert write.uid
            assert write.version
            assert not is_used or claim == namesake()
