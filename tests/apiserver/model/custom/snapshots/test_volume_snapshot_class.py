from plimsoll.api.registry import Document
from tests.apiserver.model.custom.definitions import snapshot_rules

RULES = snapshot_rules("VolumeSnapshotClass")
GOOD: Document = {"driver": "disk.example.com", "deletionPolicy": "Retain"}


def test_a_class_names_a_driver_and_a_policy() -> None:
    assert [error.field for error in RULES.validate({})] == ["deletionPolicy", "driver"]
    assert list(RULES.validate(GOOD)) == []
    (error,) = RULES.validate(GOOD | {"deletionPolicy": "x"})
    assert error.message == 'Unsupported value: "x": supported values: "Delete", "Retain"'


def test_a_class_can_change() -> None:
    changed = GOOD | {"deletionPolicy": "Delete", "parameters": {"a": "b"}}
    assert list(RULES.validate_update(changed, GOOD)) == []
