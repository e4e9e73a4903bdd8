"""What the snapshot kinds have in common, as their custom resource definitions ask for it."""

from datetime import UTC, datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.rules import prepare_status
from tests.apiserver.model.custom.definitions import snapshot_rules

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def a_snapshot(**source: str) -> Document:
    return {"metadata": {"name": "a"}, "spec": {"source": source}}


def test_a_new_object_has_no_status() -> None:
    snapshot = a_snapshot(persistentVolumeClaimName="data") | {"status": {"readyToUse": True}}
    snapshot_rules("VolumeSnapshot").prepare_create(snapshot, NOW)
    assert "status" not in snapshot


def test_the_status_endpoint_changes_the_status_alone() -> None:
    old = a_snapshot(persistentVolumeClaimName="data")
    new: Document = {
        "metadata": {"name": "a", "labels": {"x": "y"}},
        "spec": {},
        "status": {"readyToUse": True},
    }
    prepare_status(new, old, NOW)
    assert new == old | {"status": {"readyToUse": True}}


def test_all_three_count_their_generation_and_want_a_version() -> None:
    for kind in ("VolumeSnapshot", "VolumeSnapshotContent", "VolumeSnapshotClass"):
        rules = snapshot_rules(kind)
        assert rules.has_generation
        assert not rules.unconditional_update
        assert rules.is_custom
