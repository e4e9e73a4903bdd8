from datetime import UTC, datetime, timedelta, timezone

import pytest

from plimsoll.api.meta import (
    ApiObject,
    Condition,
    ObjectKey,
    ObjectMeta,
    OwnerReference,
    find_condition,
    wire_micro_time,
    wire_time,
)


@pytest.mark.parametrize("text", ["default/data", "node-1"])
def test_a_key_reads_back_from_its_text(text: str) -> None:
    assert str(ObjectKey.parse(text)) == text


def test_keys_sort_by_namespace_then_name() -> None:
    keys = [ObjectKey("b", "a"), ObjectKey("a", "z"), ObjectKey("a", "b")]
    assert [str(key) for key in sorted(keys)] == ["a/b", "a/z", "b/a"]


def test_an_object_is_being_deleted_once_it_has_a_deletion_time() -> None:
    assert not ApiObject(metadata=ObjectMeta(name="a")).is_being_deleted
    assert ApiObject(
        metadata=ObjectMeta(name="a", deletion_timestamp=datetime(2030, 1, 1, tzinfo=UTC))
    ).is_being_deleted


def test_the_controller_is_the_owner_that_says_so() -> None:
    owners = (OwnerReference(name="friend"), OwnerReference(name="boss", controller=True))
    controller = ObjectMeta(owner_references=owners).controller
    assert controller is not None
    assert controller.name == "boss"
    assert ObjectMeta(owner_references=owners[:1]).controller is None


def test_a_condition_is_found_by_its_type() -> None:
    ready = Condition(type="Ready", status="True")
    assert find_condition((Condition(type="Other"), ready), "Ready") is ready
    assert ready.holds
    assert find_condition((), "Ready") is None


def test_times_are_written_in_utc_and_micro_times_always_with_six_decimals() -> None:
    at = datetime(2030, 1, 1, 12, 0, 0, tzinfo=timezone(timedelta(hours=2)))
    assert wire_time(at) == "2030-01-01T10:00:00Z"
    assert wire_micro_time(at) == "2030-01-01T10:00:00.000000Z"
