"""Records and changes without a server around them."""

from plimsoll.apiserver.storage.collection import Change, ChangeKind, Collection, StoredRecord


def a_record(
    key: str, revision: int, text: str = "", *, labels: dict[str, str] | None = None
) -> StoredRecord:
    raw = b'{"metadata":{"name":"%s"},"text":"%s"}' % (key.encode(), text.encode())
    return StoredRecord(key, revision, raw, labels or {}, {})


def put(collection: Collection, key: str, revision: int, text: str = "", **labels: str) -> Change:
    """The change that writes a key, as the next writer would decide it."""
    previous = collection.newest(key)
    kind = ChangeKind.ADDED if previous is None else ChangeKind.MODIFIED
    return Change(kind, a_record(key, revision, text, labels=labels), previous)


def removed(collection: Collection, key: str, revision: int) -> Change:
    previous = collection.newest(key)
    assert previous is not None, f"{key} is not there"
    last = StoredRecord(key, revision, previous.raw, previous.labels, previous.fields)
    return Change(ChangeKind.DELETED, last, previous)
