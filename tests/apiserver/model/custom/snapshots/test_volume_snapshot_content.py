import pytest

from plimsoll.api.registry import Document
from tests.apiserver.model.custom.definitions import snapshot_rules

BOTH_NAMES = "both spec.volumeSnapshotRef.name and spec.volumeSnapshotRef.namespace must be set"
RULES = snapshot_rules("VolumeSnapshotContent")
SPEC: Document = {
    "deletionPolicy": "Delete",
    "driver": "disk.example.com",
    "source": {"volumeHandle": "h"},
    "volumeSnapshotRef": {"name": "a", "namespace": "default"},
}
ONE = "Invalid value: exactly one of volumeHandle and snapshotHandle must be set"


def complaints(new: Document, old: Document | None = None) -> list[tuple[str, str]]:
    found = (
        RULES.validate({"spec": new})
        if old is None
        else RULES.validate_update({"spec": new}, {"spec": old})
    )
    return [(error.field, error.message) for error in found]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({}, [], id="good"),
        pytest.param({"source": {}}, [("spec.source", ONE)], id="no-handle"),
        pytest.param(
            {"source": {"volumeHandle": "a", "snapshotHandle": "b"}},
            [("spec.source", ONE)],
            id="both-handles",
        ),
        pytest.param(
            {"volumeSnapshotRef": {"name": "a"}},
            [("spec.volumeSnapshotRef", f"Invalid value: {BOTH_NAMES}")],
            id="no-namespace",
        ),
    ],
)
def test_a_content_has_one_handle_and_names_its_snapshot(
    change: Document, expected: list[tuple[str, str]]
) -> None:
    assert complaints(SPEC | change) == expected


def test_what_the_schema_requires_is_asked_for_first() -> None:
    assert [field for field, _ in complaints({})] == [
        "spec.deletionPolicy",
        "spec.driver",
        "spec.source",
        "spec.volumeSnapshotRef",
        "<nil>",
    ]
    (first, _) = complaints(SPEC | {"deletionPolicy": "Recycle"})
    assert first == (
        "spec.deletionPolicy",
        'Unsupported value: "Recycle": supported values: "Delete", "Retain"',
    )


def test_handles_and_the_volume_mode_stay_once_they_are_set() -> None:
    other = SPEC | {"source": {"volumeHandle": "other"}}
    assert [field for field, _ in complaints(other, SPEC)] == ["spec.source.volumeHandle"]
    block, file_system = SPEC | {"sourceVolumeMode": "Block"}, SPEC | {"sourceVolumeMode": "F"}
    assert complaints(block, SPEC) == []
    assert [field for field, _ in complaints(file_system, block)] == ["spec.sourceVolumeMode"]
    assert complaints(SPEC, block) == [
        ("spec", "Invalid value: sourceVolumeMode is required once set")
    ]
    assert complaints(SPEC | {"deletionPolicy": "Retain", "driver": "e"}, SPEC) == []


def test_a_restore_size_is_not_negative() -> None:
    content = {"spec": SPEC, "status": {"restoreSize": -1}}
    (error,) = RULES.validate_status(content, {"spec": SPEC})
    assert error.field == "status.restoreSize"
