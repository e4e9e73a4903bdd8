from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.patch import merge_patch
from plimsoll.api.patch.errors import PatchError


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({"a": "foo"}, {"b": None}, {"a": "foo"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({}, {"a": [None, {"b": None, "c": 1}]}, {"a": [None, {"c": 1}]}),
        ({"a": 1}, {}, {"a": 1}),
    ],
    ids=str,
)
def test_null_removes_objects_merge_and_the_rest_replaces(
    document: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert merge_patch.apply(document, patch) == expected


@pytest.mark.parametrize("patch", [[1, 2], "x", 5, None, True], ids=str)
def test_what_is_not_an_object_is_a_bad_request(patch: Any) -> None:
    with pytest.raises(PatchError) as refused:
        merge_patch.apply({"a": 1}, patch)
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")


def test_nesting_is_bounded_on_both_sides() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for document, patch in ((deep, {}), ({}, deep), ({"a": {}}, {"a": deep})):
        with pytest.raises(PatchError):
            merge_patch.apply(document, patch)


JSON = st.recursive(
    st.none() | st.integers(0, 3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


@given(document=OBJECTS, patch=OBJECTS)
def test_applying_twice_is_applying_once(document: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merge_patch.apply(document, patch)
    assert merge_patch.apply(once, patch) == once


@given(document=OBJECTS, patch=OBJECTS)
def test_arguments_are_never_touched(document: dict[str, Any], patch: dict[str, Any]) -> None:
    before, patch_before = deepcopy(document), deepcopy(patch)
    merge_patch.apply(document, patch)["a"] = "changed"
    assert (document, patch) == (before, patch_before)
