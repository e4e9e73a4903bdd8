import pytest
from hypothesis import given, strategies as st

from plimsoll.apiserver.model.ownership.field_set import (
    FieldSet,
    UnreadableSetError,
    difference,
    dotted,
    has_path,
    intersection,
    parse,
    paths,
    union,
    without_subtrees,
)

ELEMENTS = st.sampled_from(["f:a", "f:b", 'k:{"name":"c"}', 'v:"x"'])
PATHS = st.lists(ELEMENTS, min_size=1, max_size=3).map(tuple)


def with_paths(chosen: list[tuple[str, ...]]) -> FieldSet:
    fields: FieldSet = {}
    for path in chosen:
        one: FieldSet = {}
        for element in reversed(path):
            one = {element: one}
        fields = union(fields, one)
    return fields


SETS = st.lists(PATHS, max_size=6).map(with_paths)


@given(st.lists(PATHS, max_size=6))
def test_a_set_has_exactly_the_paths_that_were_put_into_it(chosen: list[tuple[str, ...]]) -> None:
    assert set(paths(with_paths(chosen))) == set(chosen)


@given(SETS, SETS)
def test_sets_of_fields_behave_like_sets_of_paths(left: FieldSet, right: FieldSet) -> None:
    ours, theirs = set(paths(left)), set(paths(right))
    assert set(paths(union(left, right))) == ours | theirs
    assert set(paths(difference(left, right))) == ours - theirs
    assert set(paths(intersection(left, right))) == ours & theirs


@given(SETS, SETS)
def test_subtrees_go_with_their_root(left: FieldSet, right: FieldSet) -> None:
    roots = set(paths(right))
    kept = {p for p in paths(left) if not any(p[: len(root)] == root for root in roots)}
    assert set(paths(without_subtrees(left, right))) == kept


@given(SETS, SETS)
def test_a_difference_without_overlap_is_the_same_object(left: FieldSet, right: FieldSet) -> None:
    if not intersection(left, right):
        assert difference(left, right) is left


@given(SETS)
def test_what_the_server_wrote_is_read_unchanged(fields: FieldSet) -> None:
    assert parse(fields) == fields


def test_a_parent_is_owned_apart_from_what_is_in_it() -> None:
    fields: FieldSet = {"f:labels": {".": {}, "f:x": {}}}
    assert difference(fields, {"f:labels": {"f:x": {}}}) == {"f:labels": {}}
    assert difference(fields, {"f:labels": {}}) == {"f:labels": {"f:x": {}}}
    assert has_path(fields, ("f:labels",))
    assert not has_path({"f:labels": {"f:x": {}}}, ("f:labels",))


def test_keys_are_read_in_any_order_and_spacing() -> None:
    sent: FieldSet = {"f:ports": {'k:{"protocol": "TCP", "containerPort":80}': {".": {}}}}
    assert parse(sent) == {"f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {}}}


def test_elements_of_a_later_version_are_left_out() -> None:
    assert parse({"z:new": {}, "f:a": {}}) == {"f:a": {}}


@pytest.mark.parametrize("sent", ["text", {"a": {}}, {"f:a": 1}, {"k:[]": {}}, {"v:": {}}])
def test_nonsense_is_not_a_set(sent: object) -> None:
    with pytest.raises(UnreadableSetError):
        parse(sent)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            ("f:spec", "f:containers", 'k:{"name":"c"}', "f:image"),
            '.spec.containers[name="c"].image',
        ),
        (("f:metadata", "f:finalizers", 'v:"a/b"'), '.metadata.finalizers[="a/b"]'),
        (("f:ports", 'k:{"port":80,"protocol":"TCP"}'), '.ports[port=80,protocol="TCP"]'),
    ],
)
def test_paths_are_shown_with_dots(path: tuple[str, ...], text: str) -> None:
    assert dotted(path) == text
