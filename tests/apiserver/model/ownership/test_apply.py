from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.ownership.apply import apply
from plimsoll.apiserver.model.ownership.conflicts import ApplyConflictError
from plimsoll.apiserver.model.ownership.tracking import track_create, track_update
from tests.apiserver.model.ownership.objects import LATER, NOON, a_config_map, a_pod, at, by, owned

AT = at("ConfigMap")


def wanted(data: dict[str, Any] | None = None, **metadata: Any) -> Document:
    document: Document = {"kind": "ConfigMap", "apiVersion": "v1"}
    document["metadata"] = {"name": "settings"} | metadata
    return document if data is None else document | {"data": data}


def applied(
    live: Document | None, document: Document, manager: str, *, force: bool = False
) -> Document:
    """The object after the request, as it is stored."""
    result = apply(AT, live, document, by(manager), force=force)
    metadata = {"uid": "u1"} | result.document["metadata"]
    return result.document | {"metadata": metadata | {"managedFields": result.managed_fields}}


def owners(document: Document) -> dict[str, Document]:
    return owned(document["metadata"]["managedFields"])


def test_applying_creates_what_is_not_there() -> None:
    live = applied(None, wanted({"a": "1"}), "m1")
    assert live["data"] == {"a": "1"}
    assert live["metadata"]["managedFields"] == [
        {
            "manager": "m1",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": NOON,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:a": {}}},
        }
    ]


def test_applying_the_same_again_changes_nothing() -> None:
    live = applied(None, wanted({"a": "1"}), "m1")
    again = apply(AT, live, wanted({"a": "1"}), by("m1", LATER), force=False)
    assert again.managed_fields == live["metadata"]["managedFields"]
    assert again.document["data"] == {"a": "1"}


def test_what_is_no_longer_applied_is_removed() -> None:
    live = applied(None, wanted({"a": "1", "b": "2"}), "m1")
    live = applied(live, wanted({"a": "1"}), "m1")
    assert live["data"] == {"a": "1"}
    assert owners(live) == {"m1": {"f:data": {"f:a": {}}}}


def test_what_another_manager_owns_too_is_kept() -> None:
    live = applied(None, wanted({"a": "1"}), "m1")
    live = applied(live, wanted({"a": "1", "c": "3"}), "m2")
    live = applied(live, wanted(), "m1")
    assert live["data"] == {"a": "1", "c": "3"}
    assert owners(live) == {"m2": {"f:data": {"f:a": {}, "f:c": {}}}}


def test_what_no_manager_applied_is_kept() -> None:
    live = a_config_map({"a": "1"})
    live["metadata"]["managedFields"] = track_create(AT, live, by("maker"))
    live = applied(live, wanted({"b": "2"}), "m1")
    live = applied(live, wanted(), "m1")
    assert live["data"] == {"a": "1"}


def test_another_value_for_an_owned_field_is_a_conflict() -> None:
    live = applied(None, wanted({"a": "1"}), "m1")
    with pytest.raises(ApplyConflictError) as refused:
        applied(live, wanted({"a": "2", "b": "1"}), "m2")
    assert [conflict.field for conflict in refused.value.conflicts] == [".data.a"]


def test_the_same_value_is_shared() -> None:
    live = applied(None, wanted({"a": "1"}), "m1")
    live = applied(live, wanted({"a": "1"}), "m2")
    assert list(owners(live)) == ["m2", "m1"], "who changed nothing has no time and comes first"
    assert "time" not in live["metadata"]["managedFields"][0]


def test_force_takes_the_field() -> None:
    live = applied(None, wanted({"a": "1"}), "m1")
    live = applied(live, wanted({"a": "2"}), "m2", force=True)
    assert live["data"] == {"a": "2"}
    assert owners(live) == {"m2": {"f:data": {"f:a": {}}}}


def test_an_update_takes_fields_from_an_applier() -> None:
    live = applied(None, wanted({"a": "1", "b": "1"}), "m1")
    entries = track_update(AT, live | {"data": {"a": "2", "b": "1"}}, live, by("editor"))
    assert owned(entries) == {
        "m1": {"f:data": {"f:b": {}}},
        "editor": {"f:data": {"f:a": {}}},
    }


def test_what_was_there_before_the_first_apply_has_an_owner() -> None:
    live = applied(a_config_map({"a": "1"}), wanted({"b": "2"}), "m1")
    assert owners(live) == {
        "m1": {"f:data": {"f:b": {}}},
        "before-first-apply": {"f:data": {".": {}, "f:a": {}}},
    }


def test_an_applier_that_wants_nothing_owns_nothing() -> None:
    live = applied(None, wanted({"a": "1"}), "m1")
    live = applied(live, wanted(), "m1")
    assert live["metadata"]["managedFields"] == []
    assert not live.get("data")
    assert live["metadata"]["name"] == "settings"


def test_elements_of_lists_are_applied_one_by_one() -> None:
    pod = at("Pod")
    first = a_pod({"name": "a", "image": "x"}, {"name": "b", "image": "x"})
    made = apply(pod, None, first, by("m1"), force=False)
    live = made.document
    live["metadata"]["managedFields"] = made.managed_fields
    second = a_pod({"name": "a", "image": "x"})
    less = apply(pod, live, second, by("m1"), force=False)
    assert less.document["spec"]["containers"] == [{"name": "a", "image": "x"}]


def test_the_status_that_is_applied_to_the_object_has_no_owner() -> None:
    document = a_pod({"name": "a"}) | {"status": {"phase": "Running"}}
    made = apply(at("Pod"), None, document, by("m1"), force=False)
    assert "f:status" not in made.managed_fields[0]["fieldsV1"]
