"""What users are told of a rollback."""

from plimsoll.decide.plan import Emit
from plimsoll.decide.rollback.records import UnusedProof
from plimsoll.decide.rollback.relocation import BoundPair, Relocation
from plimsoll.decide.rollback.telling import (
    Audit,
    audit_of,
    proof_sentence,
    tell_begun,
    tell_done,
    tell_kept,
    tell_plan,
)
from tests.decide.rollback.unused import a_record, a_waiting_pod, an_unused_claim, an_unused_volume

PAIR = BoundPair(claim=an_unused_claim(), volume=an_unused_volume())
RELOCATION = Relocation(
    pod=a_waiting_pod(), pairs=(PAIR,), node="node-b", why="0/2 nodes are available."
)


def test_a_dry_run_tells_pod_and_claim_each_step_in_order() -> None:
    plan = tell_plan(RELOCATION, [a_record(recreates_claim=False)])
    of_pod, of_claim = plan.writes
    assert isinstance(of_pod, Emit)
    assert isinstance(of_claim, Emit)
    assert (of_pod.regarding["kind"], of_claim.regarding["kind"]) == (
        "Pod",
        "PersistentVolumeClaim",
    )
    name = PAIR.volume.name
    assert of_pod.message == (
        "This pod cannot run: 0/2 nodes are available. It could on node node-b without volumes "
        f"that no pod has used. This is a dry run; otherwise volume {name} is retained, then pod "
        "web-0 is deleted, which its owner replaces, then claim data is deleted, then volume "
        f"{name} is deleted (its driver has never published it, and would refuse to delete it "
        "otherwise), then claim data is created again by its controller."
    )


def test_each_proof_has_its_sentence() -> None:
    watched = a_record(proof=UnusedProof.WATCHED, watch="w-1")
    assert "watch w-1" in proof_sentence(watched)
    assert proof_sentence(a_record()) in tell_begun(a_record()).message


def test_the_end_is_told_of_the_new_claim_where_there_is_one() -> None:
    new = {"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "uid": "new"}}
    assert tell_done(a_record(), new).regarding == new
    assert tell_done(a_record(), None).regarding["metadata"]["uid"] == an_unused_claim().uid


def test_a_volume_that_is_kept_is_named_as_its_driver_knows_it() -> None:
    for write in tell_kept(a_record(volume_id="disk-7"), "it was published", was_used=True):
        assert isinstance(write, Emit)
        assert "disk-7 at driver" in write.message
        assert "would be empty" in write.message


def test_what_a_tenant_writes_in_the_place_of_the_audit_is_not_believed() -> None:
    assert audit_of("") is None
    assert audit_of("[" * 10_000) is None
    assert audit_of('{"times": "many"}') is None
    told = '{"volume":"v","times":2,"begunAt":"t","why":"w","proof":"NeverPublished"}'
    assert audit_of(told) == Audit(
        volume="v", times=2, begun_at="t", why="w", proof=UnusedProof.DRIVER
    )
