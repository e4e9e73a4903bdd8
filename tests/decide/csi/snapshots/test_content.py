from typing import Any

import pytest

from plimsoll.api.snapshots import ContentStatus, SnapshotError, VolumeSnapshotContent
from plimsoll.api.volumes import SecretReference
from plimsoll.decide.csi.snapshots.content import (
    ContentCall,
    ContentContext,
    DeleteSnapshot,
    FindSnapshot,
    SnapshotContentReason,
    Taken,
    TakeSnapshot,
    decide_content,
    decide_deleted,
    decide_not_deleted,
    decide_not_taken,
    decide_protection,
    decide_taken,
)
from plimsoll.decide.csi.snapshots.names import (
    BEING_CREATED,
    BEING_DELETED,
    CONTENT_BOUND,
    SECRET_NAME,
    SECRET_NAMESPACE,
)
from plimsoll.decide.csi.steps import NotAsked
from plimsoll.decide.plan import NOTHING
from plimsoll.decide.provisioning.calls import CallFailed, Code
from tests.decide.csi.snapshots.objects import NOW, a_class, a_content, events, patches

OCCASION = ContentContext(now=NOW, class_=a_class(parameters={"tier": "cold"}))
MARKED = {BEING_CREATED: "yes"}
TAKEN = ContentStatus(snapshot_handle="id", ready_to_use=True)
GOING: dict[str, Any] = {"deletion_timestamp": NOW, "finalizers": (CONTENT_BOUND,)}
TOLD = {BEING_DELETED: "yes"}


def test_a_content_is_held_as_soon_as_it_serves_a_snapshot() -> None:
    assert patches(decide_protection(a_content())) == [
        {"metadata": {"finalizers": [CONTENT_BOUND]}}
    ]
    assert decide_protection(a_content(uid="", prepared=True)) == NOTHING
    assert decide_protection(a_content(**GOING)) == NOTHING


def test_the_content_says_that_the_driver_is_asked_before_it_is() -> None:
    secret = {SECRET_NAME: "keys", SECRET_NAMESPACE: "default"}
    step = decide_content(a_content(annotations=secret), OCCASION)
    assert patches(step.plan) == [{"metadata": {"annotations": MARKED}}]
    assert step.call == TakeSnapshot(
        name="snapshot-uid-s",
        volume_handle="h",
        parameters={"tier": "cold"},
        secret=SecretReference(name="keys", namespace="default"),
    )


@pytest.mark.parametrize(
    ("content", "call"),
    [
        pytest.param(a_content(status=TAKEN), None, id="ready"),
        pytest.param(a_content(prepared=True, uid=""), None, id="no-snapshot-wants-it"),
        pytest.param(a_content(prepared=True), FindSnapshot(handle="old"), id="prepared"),
        pytest.param(a_content(**GOING, status=TAKEN), None, id="its-snapshot-stays"),
        pytest.param(
            a_content(**GOING, annotations=TOLD, status=TAKEN),
            DeleteSnapshot(handle="id"),
            id="goes-with-its-snapshot",
        ),
        pytest.param(
            a_content(**GOING, annotations=TOLD, status=TAKEN, policy="Retain"),
            None,
            id="is-retained",
        ),
        pytest.param(a_content(**GOING, annotations=TOLD), None, id="was-never-taken"),
    ],
)
def test_what_the_driver_is_asked_for(
    content: VolumeSnapshotContent, call: ContentCall | None
) -> None:
    assert decide_content(content, OCCASION).call == call


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(a_content(**GOING, annotations=TOLD, policy="Retain"), id="retained"),
        pytest.param(a_content(**GOING, annotations=TOLD), id="never-taken"),
        pytest.param(a_content(**GOING, prepared=True, uid=""), id="of-no-snapshot"),
    ],
)
def test_a_content_without_anything_to_delete_goes_at_once(
    content: VolumeSnapshotContent,
) -> None:
    assert patches(decide_content(content, OCCASION).plan) == [{"metadata": {"finalizers": None}}]


def test_a_content_stays_while_the_driver_may_be_taking_the_snapshot() -> None:
    content = a_content(**GOING, annotations=TOLD | MARKED)
    assert isinstance(decide_content(content, OCCASION).call, TakeSnapshot)


@pytest.mark.parametrize(
    ("context", "why"),
    [
        pytest.param(ContentContext(now=NOW), '"snap" not found', id="no-class"),
        pytest.param(
            ContentContext(now=NOW, class_=a_class(parameters={"csi.storage.k8s.io/x": "y"})),
            "unknown parameter key",
            id="unknown-parameter",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_said(context: ContentContext, why: str) -> None:
    step = decide_content(a_content(), context)
    assert (step.call, step.plan.reason) == (None, SnapshotContentReason.FAILED)
    (patch,) = patches(step.plan)
    assert why in patch["status"]["error"]["message"]


def test_what_the_driver_answers_is_written_down_before_the_mark_goes() -> None:
    taken = Taken(handle="id", is_ready=False, created_at=5, size_bytes=10)
    assert patches(decide_taken(a_content(annotations=MARKED), taken, NOW)) == [
        {
            "status": {
                "snapshotHandle": "id",
                "readyToUse": False,
                "creationTime": 5,
                "restoreSize": 10,
            }
        },
        {"metadata": {"annotations": {BEING_CREATED: None}}},
    ]


def test_a_driver_without_a_clock_gets_ours() -> None:
    plan = decide_taken(a_content(), Taken(handle="id", is_ready=True), NOW)
    (patch,) = patches(plan)
    assert patch["status"]["creationTime"] == int(NOW.timestamp()) * 10**9
    assert "restoreSize" not in patch["status"]


def test_the_same_answer_again_changes_nothing() -> None:
    status = ContentStatus(snapshot_handle="id", ready_to_use=False, creation_time=5)
    again = Taken(handle="id", is_ready=False, created_at=9)
    assert decide_taken(a_content(status=status), again, NOW) == NOTHING


def test_the_mark_goes_with_an_answer_that_is_final() -> None:
    marked = a_content(annotations=MARKED)
    gone = {"metadata": {"annotations": {BEING_CREATED: None}}}
    final = decide_not_taken(marked, CallFailed(Code.INTERNAL, "no"), NOW)
    assert gone in patches(final)
    for failure in (CallFailed(Code.DEADLINE_EXCEEDED), NotAsked("no secret")):
        assert gone not in patches(decide_not_taken(marked, failure, NOW))


def test_the_same_complaint_is_made_once() -> None:
    failure = CallFailed(Code.INTERNAL, "no")
    plan = decide_not_taken(a_content(), failure, NOW)
    assert events(plan) == ["SnapshotCreationFailed"]
    (patch,) = patches(plan)
    told = ContentStatus(error=SnapshotError(message=patch["status"]["error"]["message"]))
    assert decide_not_taken(a_content(status=told), failure, NOW).writes == ()


def test_a_deleted_snapshot_has_no_handle_any_more() -> None:
    content = a_content(**GOING, annotations=TOLD, status=TAKEN)
    status, finalizers = patches(decide_deleted(content))
    assert status["status"]["snapshotHandle"] is None
    assert finalizers == {"metadata": {"finalizers": None}}


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        pytest.param(CallFailed(Code.INTERNAL), "Failed to delete snapshot", id="driver"),
        pytest.param(NotAsked("x"), "Failed to get snapshot credentials", id="secret"),
    ],
)
def test_a_failed_deletion_is_told(failure: CallFailed | NotAsked, message: str) -> None:
    (write,) = decide_not_deleted(a_content(), failure).writes
    assert getattr(write, "message", "") == message
