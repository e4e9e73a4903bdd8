"""Readers see what is durable, writers what is newest, and history what was."""

from bisect import bisect_right

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.apiserver.storage.collection import (
    UNTYPED_HEAD,
    Change,
    Collection,
    StoredRecord,
    encode_raw,
    type_head,
)
from tests.apiserver.records import a_record, put, removed


@pytest.fixture
def collection() -> Collection:
    return Collection("configmaps")


def settle(collection: Collection, change: Change) -> None:
    collection.stage(change)
    collection.settle(change)


def fill(collection: Collection, *keys: str) -> None:
    for revision, key in enumerate(keys, start=1):
        settle(collection, put(collection, key, revision))


def test_readers_do_not_see_a_change_before_it_is_durable(collection: Collection) -> None:
    change = put(collection, "ns/a", 1)
    collection.stage(change)
    assert (collection.get("ns/a"), collection.newest("ns/a")) == (None, change.record)
    assert list(collection.records()) == []
    assert list(collection.newest_records()) == [change.record]
    collection.settle(change)
    assert collection.get("ns/a") == change.record


def test_a_key_written_again_before_the_first_write_is_durable_keeps_its_newest_version(
    collection: Collection,
) -> None:
    first = put(collection, "ns/a", 1)
    collection.stage(first)
    second = put(collection, "ns/a", 2)
    collection.stage(second)
    collection.settle(first)
    assert (collection.get("ns/a"), collection.newest("ns/a")) == (first.record, second.record)
    collection.settle(second)
    assert collection.get("ns/a") == second.record


def test_a_key_deleted_created_and_deleted_again_stays_deleted_for_writers(
    collection: Collection,
) -> None:
    fill(collection, "ns/a")
    batches: list[Change] = []
    for make in (removed, put, removed):
        batches.append(make(collection, "ns/a", len(batches) + 2))
        collection.stage(batches[-1])
    for durable in batches[:2]:
        collection.settle(durable)
    # The second deletion is still under way: no write may build on what it deletes.
    assert collection.newest("ns/a") is None
    collection.settle(batches[2])
    assert collection.get("ns/a") is None


def test_unstaging_returns_writers_to_what_is_durable(collection: Collection) -> None:
    fill(collection, "ns/a")
    durable = collection.get("ns/a")
    collection.stage(removed(collection, "ns/a", 2))
    collection.stage(put(collection, "ns/b", 3))
    assert collection.newest("ns/a") is None
    collection.unstage_all()
    assert collection.newest("ns/a") == durable
    assert list(collection.newest_records()) == [durable]


def test_keys_are_in_raw_order_within_a_prefix_and_after_a_key(collection: Collection) -> None:
    fill(collection, "ns/b", "ns0/a", "ns-b/a", "ns/a", "ns/c")
    assert collection.keys() == ["ns-b/a", "ns/a", "ns/b", "ns/c", "ns0/a"]
    assert collection.keys("ns/") == ["ns/a", "ns/b", "ns/c"]
    assert collection.keys("ns/", after="ns/a") == ["ns/b", "ns/c"]
    assert collection.keys("ns/", after="ns/aa") == ["ns/b", "ns/c"]
    assert collection.keys(after="ns/c") == ["ns0/a"]


def test_writers_see_staged_objects_of_a_namespace_in_order(collection: Collection) -> None:
    fill(collection, "ns/b", "ns/d", "other/a")
    collection.stage(put(collection, "ns/c", 4))
    collection.stage(removed(collection, "ns/b", 5))
    assert [r.key for r in collection.newest_records("ns/")] == ["ns/c", "ns/d"]


def test_forgetting_names_every_row_that_no_reload_needs(collection: Collection) -> None:
    settle(collection, put(collection, "ns/a", 1))
    settle(collection, put(collection, "ns/a", 2))
    settle(collection, put(collection, "ns/b", 3))
    settle(collection, removed(collection, "ns/b", 4))
    settle(collection, put(collection, "ns/b", 5))
    assert sorted(collection.forget(4)) == [1, 3, 4]
    assert [change.revision for change in collection.history] == [5]
    assert collection.forget(4) == []


Steps = list[tuple[str, bool]]


@given(st.lists(st.tuples(st.sampled_from(["ns/a", "ns/b", "ns/c"]), st.booleans()), max_size=25))
def test_every_remembered_revision_can_be_read_again(steps: Steps) -> None:
    collection = Collection("configmaps")
    states: list[dict[str, StoredRecord]] = [{}]
    changes: list[Change] = []
    for revision, (key, is_removal) in enumerate(steps, start=1):
        is_there = collection.get(key) is not None
        change = (removed if is_removal and is_there else put)(collection, key, revision)
        settle(collection, change)
        changes.append(change)
        states.append({record.key: record for record in collection.records()})
    revisions = [change.revision for change in changes]
    for revision, state in enumerate(states):
        then = {record.key: record for record in collection.records()}
        for key, record in collection.at(revision).items():
            then.pop(key, None)
            if record is not None:
                then[key] = record
        assert then == state
        assert collection.since(revision) == changes[bisect_right(revisions, revision) :]


def test_a_document_is_rendered_from_its_stored_form_with_its_version() -> None:
    document = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "a", "resourceVersion": "7"},
        "data": {"umlaut": "ä", "quote": '"'},
    }
    record = StoredRecord("ns/a", 12, encode_raw(document), {}, {})
    document["metadata"] = {"name": "a", "resourceVersion": "12"}
    assert msgspec.json.decode(record.render(type_head("ConfigMap", "v1"))) == document
    untyped = {key: document[key] for key in ("metadata", "data")}
    assert msgspec.json.decode(record.render(UNTYPED_HEAD)) == untyped
    assert record.document() == untyped


def test_what_was_never_stored_has_no_version() -> None:
    record = a_record("a", 0)
    assert msgspec.json.decode(record.render(UNTYPED_HEAD))["metadata"] == {"name": "a"}
    assert record.document()["metadata"] == {"name": "a"}


def test_a_document_taken_from_a_record_can_be_changed_without_effect() -> None:
    record = a_record("a", 1)
    record.document()["metadata"]["name"] = "changed"
    assert record.document()["metadata"]["name"] == "a"
