from plimsoll.api.snapshots import ContentStatus, SnapshotError, SnapshotStatus
from plimsoll.decide.csi.snapshots.status import complaint, told_by_content
from plimsoll.decide.plan import Plan
from tests.decide.csi.snapshots.objects import BOUND, NOW, a_content, a_snapshot, events, patches

READY = ContentStatus(
    snapshot_handle="id",
    creation_time=1_700_000_000_500_000_000,
    ready_to_use=True,
    restore_size=2 * 1024**3,
)


def test_a_snapshot_says_what_its_content_says() -> None:
    plan = Plan(reason="x", writes=tuple(told_by_content(a_snapshot(), a_content(status=READY))))
    assert patches(plan) == [
        {
            "status": {
                "boundVolumeSnapshotContentName": BOUND,
                "creationTime": "2023-11-14T22:13:20Z",
                "readyToUse": True,
                "restoreSize": "2Gi",
            }
        }
    ]
    assert events(plan) == ["SnapshotCreated", "SnapshotReady"]


def test_what_is_said_already_is_not_said_again() -> None:
    status = SnapshotStatus(
        bound_volume_snapshot_content_name=BOUND,
        creation_time=NOW,
        ready_to_use=True,
        restore_size="2Gi",
    )
    assert told_by_content(a_snapshot(status=status), a_content(status=READY)) == []


def test_a_snapshot_is_not_ready_before_its_content_says_anything() -> None:
    plan = Plan(reason="x", writes=tuple(told_by_content(a_snapshot(), a_content())))
    assert patches(plan) == [
        {"status": {"readyToUse": False, "boundVolumeSnapshotContentName": BOUND}}
    ]
    assert events(plan) == []


def test_errors_come_and_go_with_the_content() -> None:
    failed = ContentStatus(ready_to_use=False, error=SnapshotError(message="no", time=NOW))
    (write,) = told_by_content(
        a_snapshot(status=SnapshotStatus(bound_volume_snapshot_content_name=BOUND)),
        a_content(status=failed),
    )
    assert patches(Plan(reason="x", writes=(write,))) == [
        {
            "status": {
                "readyToUse": False,
                "error": {"message": "no", "time": "2030-01-01T00:00:00Z"},
            }
        }
    ]
    told = SnapshotStatus(
        bound_volume_snapshot_content_name=BOUND,
        ready_to_use=False,
        error=SnapshotError(message="no"),
    )
    writes = told_by_content(a_snapshot(status=told), a_content(status=READY))
    assert patches(Plan(reason="x", writes=tuple(writes)))[0]["status"]["error"] is None


def test_a_complaint_is_made_once() -> None:
    plan = Plan(reason="x", writes=tuple(complaint(a_snapshot(), "Bad", "why", NOW)))
    assert patches(plan) == [
        {
            "status": {
                "error": {"message": "why", "time": "2030-01-01T00:00:00Z"},
                "readyToUse": False,
            }
        }
    ]
    assert events(plan) == ["Bad"]
    told = a_snapshot(status=SnapshotStatus(error=SnapshotError(message="why")))
    assert complaint(told, "Bad", "why", NOW) == []
