import pytest

from plimsoll.api.registry import Document
from tests.apiserver.model.custom.definitions import snapshot_rules

RULES = snapshot_rules("VolumeSnapshot")
CLAIM, CONTENT = "persistentVolumeClaimName", "volumeSnapshotContentName"
ONE = f"Invalid value: exactly one of {CONTENT} and {CLAIM} must be set"
UNCHECKED = (
    "<nil>",
    (
        "Invalid value: null: some validation rules were not checked because the object was "
        "invalid; correct the existing errors to complete validation"
    ),
)


def a_snapshot(source: Document, **spec: str) -> Document:
    return {"spec": {"source": source} | spec}


def complaints(new: Document, old: Document | None = None) -> list[tuple[str, str]]:
    found = RULES.validate(new) if old is None else RULES.validate_update(new, old)
    return [(error.field, error.message) for error in found]


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(a_snapshot({CLAIM: "data"}), [], id="of-a-claim"),
        pytest.param(a_snapshot({CONTENT: "c"}), [], id="of-a-content"),
        pytest.param(a_snapshot({}), [("spec.source", ONE)], id="of-nothing"),
        pytest.param(a_snapshot({CLAIM: "a", CONTENT: "b"}), [("spec.source", ONE)], id="of-both"),
        pytest.param({"spec": {}}, [("spec.source", "Required value"), UNCHECKED], id="no-source"),
        pytest.param({}, [("spec", "Required value"), UNCHECKED], id="no-spec"),
        pytest.param(
            a_snapshot({CLAIM: "data"}, volumeSnapshotClassName=""),
            [
                (
                    "spec.volumeSnapshotClassName",
                    (
                        'Invalid value: "": volumeSnapshotClassName must not be the empty string '
                        "when set"
                    ),
                )
            ],
            id="empty-class",
        ),
    ],
)
def test_a_snapshot_has_exactly_one_source(
    snapshot: Document, expected: list[tuple[str, str]]
) -> None:
    assert complaints(snapshot) == expected


def test_the_source_is_immutable_and_the_class_is_not() -> None:
    old = a_snapshot({CLAIM: "data"}, volumeSnapshotClassName="a")
    assert complaints(a_snapshot({CLAIM: "data"}, volumeSnapshotClassName="b"), old) == []
    assert complaints(a_snapshot({CLAIM: "other"}), old) == [
        (f"spec.source.{CLAIM}", f'Invalid value: "other": {CLAIM} is immutable')
    ]
    assert complaints(a_snapshot({CONTENT: "c"}), old) == [
        ("spec.source", f"Invalid value: {CLAIM} is required once set")
    ]
