from typing import Any

import pytest

from plimsoll.apiserver.model.ownership.compiled_schema import compiled
from plimsoll.apiserver.model.ownership.field_set import FieldSet
from plimsoll.apiserver.model.ownership.merging import (
    RepeatedError,
    check_elements,
    mentioned,
    merge,
    without,
)

POD = compiled("io.k8s.api.core.v1.Pod")
META = compiled("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")


def merged_finalizers(old: list[str], new: list[str]) -> Any:
    return merge(META, {"finalizers": old}, {"finalizers": new})["finalizers"]


def test_a_document_mentions_its_leaves_and_list_elements() -> None:
    document = {"metadata": {"labels": {"a": "1"}, "finalizers": ["x/y"]}}
    assert mentioned(POD, document) == {
        "f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {'v:"x/y"': {}}}
    }


def test_empty_objects_are_mentioned_empty_lists_are_not() -> None:
    assert mentioned(POD, {"metadata": {"labels": {}, "finalizers": []}}) == {
        "f:metadata": {"f:labels": {}}
    }


def test_what_is_not_mentioned_stays() -> None:
    old = {"spec": {"containers": [{"name": "c", "image": "x", "tty": True}]}, "status": {}}
    new = {"spec": {"containers": [{"name": "c", "image": "y"}]}}
    assert merge(POD, old, new) == {
        "spec": {"containers": [{"name": "c", "image": "y", "tty": True}]},
        "status": {},
    }


@pytest.mark.parametrize(
    ("old", "new", "merged"),
    [
        ("ab", "ab", "ab"),
        ("ab", "ba", "ba"),
        ("abc", "b", "abc"),
        ("ac", "abc", "abc"),
        ("abc", "cxa", "bcxa"),
        ("", "ab", "ab"),
        ("ab", "", "ab"),
    ],
)
def test_merged_lists_follow_the_applied_order(old: str, new: str, merged: str) -> None:
    assert merged_finalizers(list(old), list(new)) == list(merged)


def test_taking_fields_out_leaves_null_where_nothing_is_left() -> None:
    document = {"metadata": {"labels": {"a": "1"}, "name": "p"}}
    taken: FieldSet = {"f:metadata": {"f:labels": {"f:a": {}}}}
    assert without(POD, document, taken) == {"metadata": {"labels": None, "name": "p"}}


def test_an_applied_list_must_not_name_an_element_twice() -> None:
    document = {"spec": {"containers": [{"name": "c"}, {"name": "c"}]}}
    with pytest.raises(RepeatedError):
        check_elements(POD, document)
