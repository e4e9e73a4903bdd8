from plimsoll.api.snapshots import VolumeSnapshot, VolumeSnapshotClass
from plimsoll.api.typed import decode, from_document


def test_a_snapshot_is_ready_when_its_status_says_so() -> None:
    assert decode(VolumeSnapshot, b'{"status":{"readyToUse":true}}').is_ready
    assert not decode(VolumeSnapshot, b'{"status":{"readyToUse":false}}').is_ready
    assert not VolumeSnapshot().is_ready


def test_a_snapshot_class_is_default_when_annotated_so() -> None:
    annotations = {"snapshot.storage.kubernetes.io/is-default-class": "true"}
    assert from_document(VolumeSnapshotClass, {"metadata": {"annotations": annotations}}).is_default
