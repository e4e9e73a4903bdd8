from typing import Any

import msgspec
import pytest

from plimsoll.api.snapshots import ContentStatus, SnapshotStatus, VolumeSnapshot
from plimsoll.api.volumes import ClaimStatus, VolumeSpec
from plimsoll.decide.csi.snapshots.names import (
    CLAIM_AS_SOURCE,
    SECRET_NAME,
    SECRET_NAMESPACE,
    SNAPSHOT_AS_SOURCE,
    SNAPSHOT_BOUND,
)
from plimsoll.decide.csi.snapshots.snapshot import SnapshotReason, decide_snapshot
from plimsoll.decide.csi.snapshots.view import SnapshotView
from plimsoll.decide.plan import NOTHING, Create, Emit
from tests.builders import DRIVER
from tests.decide.csi.snapshots.objects import (
    BOUND,
    NOW,
    a_bound_claim,
    a_class,
    a_content,
    a_snapshot,
    a_view,
    events,
    its_volume,
    patches,
)

HELD = (SNAPSHOT_AS_SOURCE,)
HELD_TWICE = (SNAPSHOT_AS_SOURCE, SNAPSHOT_BOUND)
READY = SnapshotStatus(bound_volume_snapshot_content_name=BOUND, ready_to_use=True)


def complaint_about(snapshot: VolumeSnapshot, view: SnapshotView) -> tuple[str, str]:
    plan = decide_snapshot(snapshot, view)
    assert plan.reason == SnapshotReason.REFUSED
    (event,) = (write for write in plan.writes if isinstance(write, Emit))
    return event.reason, event.message


def test_a_snapshot_is_held_first() -> None:
    assert patches(decide_snapshot(a_snapshot(), a_view())) == [
        {"metadata": {"finalizers": [SNAPSHOT_AS_SOURCE]}}
    ]
    assert patches(decide_snapshot(a_snapshot(finalizers=HELD), a_view(a_content()))) == [
        {"metadata": {"finalizers": [SNAPSHOT_AS_SOURCE, SNAPSHOT_BOUND]}}
    ]


def test_a_content_is_made_once_the_claim_is_held() -> None:
    parameters = {
        "csi.storage.k8s.io/snapshotter-secret-name": "keys",
        "csi.storage.k8s.io/snapshotter-secret-namespace": "default",
    }
    view = a_view(classes=(a_class(parameters=parameters),))
    plan = decide_snapshot(a_snapshot(finalizers=HELD), view)
    assert patches(plan) == [{"metadata": {"finalizers": [CLAIM_AS_SOURCE]}}]
    (create,) = (write for write in plan.writes if isinstance(write, Create))
    assert create.document["metadata"] == {
        "name": BOUND,
        "annotations": {SECRET_NAME: "keys", SECRET_NAMESPACE: "default"},
    }
    spec = create.document["spec"]
    assert spec["source"] == {"volumeHandle": "volume-1"}
    assert spec["volumeSnapshotRef"]["uid"] == "uid-s"
    assert (spec["driver"], spec["deletionPolicy"]) == (DRIVER, "Delete")
    assert events(plan) == ["CreatingSnapshot"]


def test_a_retained_content_does_not_hold_its_snapshot() -> None:
    plan = decide_snapshot(a_snapshot(finalizers=HELD), a_view(a_content(policy="Retain")))
    assert plan.reason == SnapshotReason.FOLLOWED


def test_a_snapshot_that_is_ready_is_left_alone() -> None:
    snapshot = a_snapshot(finalizers=HELD_TWICE, status=READY)
    assert decide_snapshot(snapshot, a_view(a_content())) == NOTHING
    assert decide_snapshot(snapshot, a_view(a_content(), classes=())) == NOTHING


def test_the_default_class_is_that_of_the_volumes_driver() -> None:
    snapshot = a_snapshot(class_name=None)
    classes = (a_class("other", default=True, driver="other"), a_class("mine", default=True))
    plan = decide_snapshot(snapshot, a_view(classes=classes))
    assert patches(plan) == [{"spec": {"volumeSnapshotClassName": "mine"}}]


NOT_BOUND = msgspec.structs.replace(a_bound_claim(), status=ClaimStatus(phase="Pending"))
NOT_CSI = msgspec.structs.replace(
    its_volume(), spec=VolumeSpec(claim_ref=its_volume().spec.claim_ref)
)


@pytest.mark.parametrize(
    ("facts", "reason", "why"),
    [
        pytest.param({"classes": ()}, "GetSnapshotClassFailed", '"snap" not found', id="no-class"),
        pytest.param(
            {"claim": None}, "SnapshotContentCreationFailed", '"data" not found', id="no-claim"
        ),
        pytest.param(
            {"claim": NOT_BOUND},
            "SnapshotContentCreationFailed",
            "the PVC data is not yet bound to a PV, will not attempt to take a snapshot",
            id="claim-not-bound",
        ),
        pytest.param(
            {"claim": a_bound_claim(deletion_timestamp=NOW)},
            "SnapshotContentCreationFailed",
            "because it is being deleted",
            id="claim-goes",
        ),
        pytest.param(
            {"volume": NOT_CSI},
            "SnapshotContentCreationFailed",
            "cannot find CSI PersistentVolumeSource for volume volume-1",
            id="not-csi",
        ),
        pytest.param(
            {"classes": (a_class(driver="other"),)},
            "SnapshotContentCreationFailed",
            "snapshot class snap is of driver other",
            id="class-of-another-driver",
        ),
    ],
)
def test_what_is_missing_is_said(facts: dict[str, Any], reason: str, why: str) -> None:
    found, message = complaint_about(a_snapshot(finalizers=HELD), a_view(**facts))
    assert found == reason
    assert why in message


def test_no_default_class_is_said_and_so_are_two() -> None:
    snapshot = a_snapshot(class_name=None)
    assert complaint_about(snapshot, a_view())[0] == "SetDefaultSnapshotClassFailed"
    two = (a_class("a", default=True), a_class("b", default=True))
    _, message = complaint_about(snapshot, a_view(classes=two))
    assert "2 default snapshot classes were found" in message


def test_a_prepared_content_learns_whose_it_is() -> None:
    content = a_content(name="old", prepared=True, uid="", policy="Retain")
    snapshot = a_snapshot(content="old", finalizers=HELD)
    plan = decide_snapshot(snapshot, a_view(content))
    assert plan.reason == SnapshotReason.BOUND
    assert patches(plan) == [
        {"spec": {"volumeSnapshotRef": {"uid": "uid-s"}, "volumeSnapshotClassName": "snap"}},
        {"status": {"readyToUse": False, "boundVolumeSnapshotContentName": "old"}},
    ]


@pytest.mark.parametrize(
    ("snapshot", "contents", "reason"),
    [
        pytest.param(a_snapshot(content="old"), [], "SnapshotContentMissing", id="missing"),
        pytest.param(
            a_snapshot(content="old"),
            [a_content(name="old")],
            "SnapshotContentMismatch",
            id="not-prepared",
        ),
        pytest.param(
            a_snapshot(content="old"),
            [a_content(name="old", prepared=True, uid="other")],
            "SnapshotContentMisbound",
            id="serves-another",
        ),
        pytest.param(
            a_snapshot(), [a_content(prepared=True)], "SnapshotContentMismatch", id="prepared"
        ),
        pytest.param(a_snapshot(status=READY), [], "SnapshotContentMissing", id="lost-when-ready"),
        pytest.param(
            a_snapshot(status=READY),
            [a_content(uid="other", status=ContentStatus(ready_to_use=True))],
            "SnapshotMisbound",
            id="taken-when-ready",
        ),
    ],
)
def test_a_content_that_does_not_fit_is_refused(
    snapshot: VolumeSnapshot, contents: list[Any], reason: str
) -> None:
    assert complaint_about(snapshot, a_view(*contents))[0] == reason
