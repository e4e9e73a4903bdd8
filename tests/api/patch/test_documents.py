"""Copies share nothing, comparison is JSON's own, and depth is bounded."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.patch.documents import MAX_DEPTH, clone, identical, without_nulls
from plimsoll.api.patch.errors import PatchError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=15,
)


def containers(value: Any) -> list[int]:
    members = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return []
    return [id(value), *(inner for member in members for inner in containers(member))]


@given(JSON)
def test_a_copy_is_identical_and_shares_no_container(value: Any) -> None:
    copy = clone(value)
    assert identical(copy, value)
    assert not set(containers(copy)) & set(containers(value))


@pytest.mark.parametrize(
    ("left", "right"), [(1, 1.0), (1, True), (0, False), ("1", 1), ([], {}), ({"a": 1}, {"b": 1})]
)
def test_values_that_python_calls_equal_can_differ_in_json(left: Any, right: Any) -> None:
    assert not identical(left, right)
    assert not identical({"x": [left]}, {"x": [right]})


def test_null_members_go_and_null_elements_stay() -> None:
    assert without_nulls({"a": None, "b": [None, {"c": None}]}) == {"b": [None, {}]}


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def test_nesting_is_refused_beyond_a_limit() -> None:
    assert clone(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    for deep in (nested(MAX_DEPTH + 1), nested(100_000)):
        with pytest.raises(PatchError) as refused:
            clone(deep)
        assert refused.value.code == 422
