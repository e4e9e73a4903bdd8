"""A large write is decided aside, and counts only if nothing it was decided on has changed."""

from plimsoll.apiserver.storage.collection import Change, ChangeKind, StoredRecord
from plimsoll.apiserver.storage.drafts import Draft
from plimsoll.apiserver.storage.revisions import Revisions
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.runtime.clock import SteppedClock

RAW = b'{"metadata":{}}'


def stored(*keys: str) -> Revisions:
    revisions = Revisions(MemoryStore(), SteppedClock())
    for key in keys:
        write(revisions, key)
    return revisions


def write(revisions: Revisions | Draft, key: str) -> StoredRecord:
    collection = revisions.collection("maps")
    previous = collection.newest(key)
    record = StoredRecord(key, revisions.next_revision, RAW, {}, {})
    kind = ChangeKind.ADDED if previous is None else ChangeKind.MODIFIED
    revisions.stage(collection, Change(kind, record, previous))
    return record


def remove(revisions: Revisions | Draft, key: str) -> None:
    collection = revisions.collection("maps")
    previous = collection.newest(key)
    assert previous is not None
    last = StoredRecord(key, revisions.next_revision, RAW, {}, {})
    revisions.stage(collection, Change(ChangeKind.DELETED, last, previous))


async def test_a_draft_sees_its_own_changes_and_keeps_them_to_itself() -> None:
    revisions = stored("a", "b")
    draft = Draft(revisions)
    write(draft, "c")
    remove(draft, "a")
    assert [record.key for record in draft.collection("maps").newest_records()] == ["b", "c"]
    assert draft.collection("maps").newest("a") is None
    assert [record.key for record in revisions.collection("maps").newest_records()] == ["a", "b"]


async def test_a_committed_draft_is_staged_with_the_revisions_of_then() -> None:
    revisions = stored("a")
    draft = Draft(revisions)
    drafted = write(draft, "b")
    other = write(revisions, "c")
    assert draft.commit()
    assert revisions.collection("maps").newest("b") is drafted
    assert drafted.revision == other.revision + 1
    await revisions.durable()
    assert revisions.committed == drafted.revision


async def test_a_draft_that_read_what_changed_is_not_committed() -> None:
    revisions = stored("a")
    draft = Draft(revisions)
    write(draft, "a")
    write(revisions, "a")
    newest = revisions.collection("maps").newest("a")
    assert not draft.commit()
    assert revisions.collection("maps").newest("a") is newest


async def test_a_draft_that_looked_at_all_objects_is_overtaken_by_any_of_them() -> None:
    revisions = stored("a")
    draft = Draft(revisions)
    assert len(list(draft.collection("maps").newest_records())) == 1
    write(revisions, "b")
    assert not draft.commit()


async def test_what_was_read_may_become_durable_meanwhile() -> None:
    revisions = stored("a")
    draft = Draft(revisions)
    write(draft, "a")
    await revisions.durable()
    assert draft.commit()
