from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.patch.errors import PatchError
from plimsoll.apiserver.model.patch import json_patch

CONFIG: dict[str, Any] = {"data": {"a": "1", "b/c": "2", "~": "3"}, "list": ["x", "y", "z"]}


@pytest.mark.parametrize(
    ("operation", "path", "expected"),
    [
        ({"op": "add", "path": "/data/n", "value": "9"}, ("data", "n"), "9"),
        ({"op": "add", "path": "/data/n"}, ("data", "n"), None),
        ({"op": "replace", "path": "/data/a", "value": "9"}, ("data", "a"), "9"),
        ({"op": "replace", "path": "/data/new", "value": "9"}, ("data", "new"), "9"),
        ({"op": "add", "path": "/data/b~1c", "value": "9"}, ("data", "b/c"), "9"),
        ({"op": "add", "path": "/data/~0", "value": "9"}, ("data", "~"), "9"),
        ({"op": "copy", "from": "/data/a", "path": "/data/n"}, ("data", "n"), "1"),
        ({"op": "copy", "from": "/data/none", "path": "/data/n"}, ("data", "n"), None),
        ({"op": "move", "from": "/data/a", "path": "/list/0"}, ("list",), ["1", "x", "y", "z"]),
        ({"op": "add", "path": "/list/-", "value": "w"}, ("list",), ["x", "y", "z", "w"]),
        ({"op": "add", "path": "/list/1", "value": "w"}, ("list",), ["x", "w", "y", "z"]),
        ({"op": "add", "path": "/list/3", "value": "w"}, ("list",), ["x", "y", "z", "w"]),
        ({"op": "add", "path": "/list/-1", "value": "w"}, ("list",), ["x", "y", "z", "w"]),
        ({"op": "remove", "path": "/list/-1"}, ("list",), ["x", "y"]),
        ({"op": "remove", "path": "/list/0"}, ("list",), ["y", "z"]),
        ({"op": "replace", "path": "/list/1", "value": "w"}, ("list",), ["x", "w", "z"]),
        ({"op": "replace", "path": "", "value": {"list": 1}}, ("list",), 1),
        ({"op": "test", "path": "/data/a", "value": "1"}, ("data", "a"), "1"),
        ({"op": "test", "path": "/data/none"}, ("data", "a"), "1"),
        ({"op": "test", "path": "", "value": CONFIG}, ("data", "a"), "1"),
    ],
    ids=str,
)
def test_operation_changes_what_it_names(
    operation: dict[str, Any], path: tuple[str, ...], expected: Any
) -> None:
    patched = json_patch.apply(CONFIG, [operation])
    for step in path:
        patched = patched[step]
    assert patched == expected


def test_moved_member_is_gone_from_where_it_was() -> None:
    patched = json_patch.apply(CONFIG, [{"op": "move", "from": "/data/a", "path": "/data/z"}])
    assert patched["data"] == {"b/c": "2", "~": "3", "z": "1"}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/data/none"},
        {"op": "remove", "path": "/list/3"},
        {"op": "remove", "path": "/list/-4"},
        {"op": "add", "path": "/none/x", "value": "y"},
        {"op": "add", "path": "/list/4", "value": "y"},
        {"op": "add", "path": "/list/one", "value": "y"},
        {"op": "add", "path": "/list/\u0661", "value": "y"},
        {"op": "add", "path": "", "value": {}},
        {"op": "add", "value": "y"},
        {"op": "add", "path": "/data/a/b", "value": "y"},
        {"op": "replace", "path": "/list/-", "value": "y"},
        {"op": "replace", "path": "", "value": "y"},
        {"op": "replace", "path": "", "value": None},
        {"op": "move", "from": "/data/none", "path": "/data/x"},
        {"op": "move", "from": "/data", "path": "/data/inside"},
        {"op": "copy", "path": "/data/x"},
        {"op": "test", "path": "/data/a", "value": "2"},
        {"op": "test", "path": "/data/none", "value": "2"},
        {"op": "frob", "path": "/data/a"},
        {"path": "/data/a"},
        {},
        None,
    ],
    ids=str,
)
def test_operation_that_does_not_fit_the_document_is_invalid(operation: Any) -> None:
    with pytest.raises(PatchError) as refused:
        json_patch.apply(CONFIG, [operation])
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")


@pytest.mark.parametrize("patch", [{"op": "add"}, "text", 5, [5], ["x"], [{"op": 5}]], ids=str)
def test_what_is_not_a_json_patch_is_a_bad_request(patch: Any) -> None:
    with pytest.raises(PatchError) as refused:
        json_patch.apply(CONFIG, patch)
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")


@pytest.mark.parametrize(("left", "right"), [(1, 1.0), (1, True), (0, False), ("1", 1)], ids=str)
def test_values_of_different_json_types_are_not_equal(left: Any, right: Any) -> None:
    with pytest.raises(PatchError):
        json_patch.apply({"v": left}, [{"op": "test", "path": "/v", "value": right}])


def test_one_failing_operation_leaves_the_document_as_it_was() -> None:
    document = deepcopy(CONFIG)
    with pytest.raises(PatchError):
        json_patch.apply(
            document, [{"op": "remove", "path": "/data"}, {"op": "test", "path": "/x", "value": 1}]
        )
    assert document == CONFIG


def test_too_many_operations_are_too_large() -> None:
    with pytest.raises(PatchError) as refused:
        json_patch.apply({}, [{"op": "test", "path": "/x"}] * 10_001)
    assert refused.value.code == 413
    assert json_patch.apply({}, [{"op": "test", "path": "/x"}] * 10_000) == {}


def test_copies_cannot_blow_up_the_document() -> None:
    document = {"a": ["x" * 1000]}
    with pytest.raises(PatchError) as refused:
        json_patch.apply(document, [{"op": "copy", "from": "/a", "path": "/a/-"}] * 30)
    assert refused.value.code == 422


def test_nesting_is_bounded() -> None:
    steps = [{"op": "add", "path": "/a" * depth, "value": {}} for depth in range(1, 500)]
    with pytest.raises(PatchError):
        json_patch.apply({}, steps)
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for operation in ("add", "replace"):
        with pytest.raises(PatchError):
            json_patch.apply({}, [{"op": operation, "path": "/x", "value": deep}])


@pytest.mark.parametrize("patch", [{"op": "add"}, "text", [5], [None], None], ids=str)
def test_what_is_not_a_json_patch_has_no_unknown_members(patch: Any) -> None:
    assert json_patch.unknown_fields(patch) == []


def test_members_without_meaning_are_named() -> None:
    patch = [{"op": "test", "path": "/x"}, {"op": "test", "path": "/x", "vlaue": 1}]
    assert json_patch.unknown_fields(patch) == ['json patch unknown field "[1].vlaue"']


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
POINTERS = st.lists(st.sampled_from(["a", "b", "0", "1", "-", "-1", ""]), max_size=3).map(
    lambda steps: "".join(f"/{step}" for step in steps)
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"])},
    optional={"path": POINTERS, "from": POINTERS, "value": JSON},
)


@given(document=JSON, patch=st.lists(OPERATIONS, max_size=5))
def test_any_patch_is_applied_or_refused_and_never_touches_its_arguments(
    document: Any, patch: list[dict[str, Any]]
) -> None:
    before, patch_before = deepcopy(document), deepcopy(patch)
    with suppress(PatchError):
        json_patch.apply({"a": document}, patch)
    assert (document, patch) == (before, patch_before)


def test_result_shares_nothing_with_the_patch() -> None:
    value: dict[str, Any] = {"x": []}
    patched = json_patch.apply({}, [{"op": "add", "path": "/v", "value": value}])
    patched["v"]["x"].append(1)
    assert value == {"x": []}
