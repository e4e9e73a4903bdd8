from collections.abc import Iterable

from hypothesis import given, strategies as st

from plimsoll.api.registry import Document
from plimsoll.cache.store import Store, StoreChange, View
from tests.cache.objects import an_object, key


def node_of(object_: Document) -> Iterable[str]:
    return [object_["node"]] if object_["node"] else []


def a_store() -> Store[Document]:
    return Store({"node": node_of})


def names(view: View[Document], node: str) -> list[str]:
    return sorted(k.name for k in view.by("node", node))


def test_a_change_tells_what_was_there_before() -> None:
    store = a_store()
    old, new = an_object("a", 1), an_object("a", 2)
    assert store.put(key("a"), old) == StoreChange(key("a"), None, old)
    assert store.put(key("a"), new) == StoreChange(key("a"), old, new)
    assert store.remove(key("a")) == StoreChange(key("a"), new, None)
    assert store.remove(key("a")) is None


def test_a_snapshot_never_changes() -> None:
    store = a_store()
    store.put(key("a"), an_object("a", 1, node="n1"))
    before = store.snapshot()
    store.put(key("a"), an_object("a", 2, node="n2"))
    store.put(key("b"), an_object("b", 3, node="n1"))
    assert names(before, "n1") == ["a"]
    assert names(before, "n2") == []
    assert len(before) == 1
    assert names(store.snapshot(), "n1") == ["b"]
    assert names(store.snapshot(), "n2") == ["a"]
    assert store.snapshot().revision > before.revision


def test_an_index_value_without_objects_disappears() -> None:
    store = a_store()
    store.put(key("a"), an_object("a", 1, node="n1"))
    store.remove(key("a"))
    assert list(store.snapshot().indexes["node"]) == []


def test_a_list_removes_what_it_does_not_name_and_keeps_what_is_equal() -> None:
    store = a_store()
    kept = an_object("kept", 1)
    for object_ in (kept, an_object("changed", 2), an_object("gone", 3)):
        store.put(key(object_["metadata"]["name"]), object_)
    changed, new = an_object("changed", 5), an_object("new", 6)
    changes = store.replace(
        {key("kept"): an_object("kept", 1), key("changed"): changed, key("new"): new}
    )
    assert {(c.key.name, c.before is None, c.after is None) for c in changes} == {
        ("gone", False, True),
        ("changed", False, False),
        ("new", True, False),
    }
    assert store.replace(dict(store.snapshot().objects)) == []


OBJECTS = st.builds(
    an_object,
    name=st.sampled_from("abcdefgh"),
    version=st.integers(1, 9),
    node=st.sampled_from(["", "n1", "n2"]),
)


@given(steps=st.lists(st.one_of(OBJECTS, st.sampled_from("abcdefgh"), st.lists(OBJECTS))))
def test_indexes_always_equal_those_of_a_store_filled_at_once(
    steps: list[Document | str | list[Document]],
) -> None:
    store = a_store()
    for step in steps:
        if isinstance(step, str):
            store.remove(key(step))
        elif isinstance(step, list):
            store.replace({key(o["metadata"]["name"]): o for o in step})
        else:
            store.put(key(step["metadata"]["name"]), step)
    view = store.snapshot()
    rebuilt = a_store()
    rebuilt.replace(dict(view.objects))
    for node in ("n1", "n2"):
        assert dict(view.by("node", node)) == dict(rebuilt.snapshot().by("node", node))
    assert sorted(view.indexes["node"]) == sorted(rebuilt.snapshot().indexes["node"])
