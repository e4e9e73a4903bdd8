import pytest

from plimsoll.apiserver.model.ownership.entries import (
    ANCIENT,
    UPDATE,
    ManagedFieldsEntry,
    capped,
    differ,
    managed_fields,
    manager_name,
    parse_owners,
)
from plimsoll.apiserver.model.ownership.field_set import FieldSet
from tests.apiserver.model.ownership.objects import LATER, NOON


def an_updater(name: str, time: str = NOON, *, field: str = "") -> ManagedFieldsEntry:
    fields: FieldSet = {"f:data": {f"f:{field or name}": {}}}
    return ManagedFieldsEntry(
        manager=name, operation=UPDATE, api_version="v1", time=time, fields=fields
    )


@pytest.mark.parametrize(
    ("given", "user_agent", "name"),
    [
        ("binder", "kubectl/v1.36", "binder"),
        ("", "kubectl/v1.36 (linux)", "kubectl"),
        ("", "", "unknown"),
        ("", "a\x07b/1", "ab"),
        ("", "é" * 100, "é" * 64),
    ],
)
def test_a_manager_is_called_as_it_says_or_as_its_program(
    given: str, user_agent: str, name: str
) -> None:
    assert manager_name(given, user_agent) == name


def test_appliers_come_first_then_the_oldest() -> None:
    new = an_updater("a", LATER)
    old = an_updater("b", NOON)
    applier = ManagedFieldsEntry(manager="c", operation="Apply", api_version="v1", time=LATER)
    shown = managed_fields({entry.key: entry for entry in (new, old, applier)})
    assert [entry["manager"] for entry in shown] == ["c", "b", "a"]


def test_another_time_alone_is_no_difference() -> None:
    assert not differ([an_updater("a", NOON).document], [an_updater("a", LATER).document])
    assert differ([an_updater("a").document], [an_updater("a", field="z").document])


def test_the_oldest_of_too_many_updaters_become_one() -> None:
    entries = [an_updater(f"m{n:02}", f"2026-01-01T12:00:{n:02}Z") for n in range(12)]
    left = capped({entry.key: entry for entry in entries})
    assert len(left) == 10
    ancient = next(entry for entry in left.values() if entry.manager == ANCIENT)
    assert ancient.fields == {"f:data": {"f:m00": {}, "f:m01": {}, "f:m02": {}}}
    assert ancient.time == entries[2].time


@pytest.mark.parametrize(
    "change",
    [{"operation": "Steal"}, {"apiVersion": ""}, {"fieldsType": "V2"}, {"fieldsV1": {"x": {}}}],
)
def test_entries_that_are_not_right_are_not_read(change: dict[str, object]) -> None:
    assert parse_owners([an_updater("a").document]) is not None
    assert parse_owners([an_updater("a").document | change]) is None
