from plimsoll.apiserver.model.ownership.conflicts import ApplyConflictError, conflicts_with
from plimsoll.apiserver.model.ownership.entries import ManagedFieldsEntry

APPLIER = ManagedFieldsEntry(
    manager="m1", operation="Apply", api_version="v1", fields={"f:data": {"f:a": {}, "f:b": {}}}
)
UPDATER = ManagedFieldsEntry(
    manager="editor",
    operation="Update",
    api_version="v1",
    subresource="status",
    fields={"f:data": {"f:a": {}}},
)


def test_one_conflict_is_told_in_one_line() -> None:
    found = list(conflicts_with([APPLIER], {"f:data": {"f:a": {}, "f:z": {}}}))
    answer = ApplyConflictError(found).answer
    assert answer.code == 409
    assert str(answer) == 'Apply failed with 1 conflict: conflict with "m1": .data.a'
    assert answer.document["details"] == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "m1"',
                "field": ".data.a",
            }
        ]
    }


def test_many_conflicts_are_told_by_owner() -> None:
    found = list(conflicts_with([APPLIER, UPDATER], {"f:data": {"f:a": {}, "f:b": {}}}))
    assert str(ApplyConflictError(found)) == (
        "Apply failed with 3 conflicts: "
        'conflicts with "editor" with subresource "status" using v1:\n'
        "- .data.a\n"
        'conflicts with "m1":\n'
        "- .data.a\n"
        "- .data.b"
    )
