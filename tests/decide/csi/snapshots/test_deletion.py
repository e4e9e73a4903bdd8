import pytest

from plimsoll.api.snapshots import SnapshotStatus
from plimsoll.decide.csi.snapshots.deletion import (
    SnapshotDeletionReason,
    decide_deletion,
    decide_source,
)
from plimsoll.decide.csi.snapshots.names import (
    BEING_DELETED,
    CLAIM_AS_SOURCE,
    SNAPSHOT_AS_SOURCE,
    SNAPSHOT_BOUND,
)
from plimsoll.decide.plan import NOTHING, Delete, Plan
from tests.builders import a_claim
from tests.decide.csi.snapshots.objects import (
    BOUND,
    NOW,
    a_bound_claim,
    a_content,
    a_snapshot,
    a_view,
    events,
    patches,
)

GOING = a_snapshot(deletion_timestamp=NOW, finalizers=(SNAPSHOT_AS_SOURCE, SNAPSHOT_BOUND))
TOLD = {"metadata": {"annotations": {BEING_DELETED: "yes"}}}


def deletions(plan: Plan) -> list[str]:
    return [write.key.name for write in plan.writes if isinstance(write, Delete)]


def test_the_content_goes_first_and_holds_the_snapshot_until_then() -> None:
    plan = decide_deletion(GOING, a_view(a_content()))
    assert patches(plan) == [TOLD, {"metadata": {"finalizers": [SNAPSHOT_BOUND]}}]
    assert deletions(plan) == [BOUND]
    going = a_content(deletion_timestamp=NOW, annotations={BEING_DELETED: "yes"})
    held = a_snapshot(deletion_timestamp=NOW, finalizers=(SNAPSHOT_BOUND,))
    assert decide_deletion(held, a_view(going)) == NOTHING
    assert patches(decide_deletion(held, a_view())) == [{"metadata": {"finalizers": None}}]


def test_a_retained_content_is_told_and_stays() -> None:
    plan = decide_deletion(GOING, a_view(a_content(policy="Retain")))
    assert patches(plan) == [TOLD, {"metadata": {"finalizers": None}}]
    assert deletions(plan) == []


@pytest.mark.parametrize("uid", ["", "other"], ids=["of-no-snapshot", "of-another"])
def test_a_content_that_is_not_this_snapshots_is_left_alone(uid: str) -> None:
    plan = decide_deletion(GOING, a_view(a_content(uid=uid)))
    assert patches(plan) == [{"metadata": {"finalizers": None}}]
    assert deletions(plan) == []


def test_a_snapshot_that_is_being_restored_from_waits() -> None:
    plan = decide_deletion(GOING, a_view(a_content(), restoring=(a_claim("copy"),)))
    assert (plan.reason, patches(plan)) == (SnapshotDeletionReason.BEING_RESTORED, [])
    assert events(plan) == ["SnapshotDeletePending"]
    assert plan.recheck_after is not None


def test_a_snapshot_that_others_hold_is_theirs() -> None:
    held = a_snapshot(deletion_timestamp=NOW, finalizers=("x/y",))
    assert decide_deletion(held, a_view(a_content())) == NOTHING


def test_a_claim_is_released_when_every_snapshot_of_it_is_ready() -> None:
    claim = a_bound_claim(finalizers=("x/y", CLAIM_AS_SOURCE))
    ready = a_snapshot(status=SnapshotStatus(ready_to_use=True))
    assert decide_source(claim, [ready, a_snapshot()]) == NOTHING
    assert patches(decide_source(claim, [ready])) == [{"metadata": {"finalizers": ["x/y"]}}]
    assert decide_source(a_bound_claim(), []) == NOTHING
