"""The objects of one resource: what is durable, what is about to be, and what was before.

Readers see durable records only. Writers decide on the newest version, durable or not, so that
requests need not wait for each other's disk writes.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from functools import cache

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.quota.scopes import Scope
from plimsoll.apiserver.admission.quota.tally import QuotaTally
from plimsoll.apiserver.model.slices import decode_object
from plimsoll.apiserver.storage.quotas.tallies import Tallies

RAW_START = b'{"metadata":{'


class StoredRecord(msgspec.Struct, frozen=True, gc=False):
    """One version of an object.

    `raw` is its JSON without kind, apiVersion and resourceVersion, beginning with RAW_START. What a
    client gets is put together from the three and the rest of the raw bytes, without decoding.
    """

    key: str
    revision: int
    raw: bytes
    labels: dict[str, str]
    fields: dict[str, str]
    """What field selectors can ask for."""

    def document(self) -> Document:
        """A copy of its own, with its resourceVersion: callers may change it."""
        decoded: Document = decode_object(self.raw)
        if self.revision:
            decoded["metadata"]["resourceVersion"] = str(self.revision)
        return decoded

    def render(self, type_head: bytes) -> bytes:
        """The whole document; `type_head` as `type_head(kind, apiVersion)` makes it.

        What was never stored (a dry run) has no resourceVersion.
        """
        if not self.revision:
            return type_head + self.raw[len(RAW_START) :]
        return b'%s"resourceVersion":"%d",%s' % (
            type_head,
            self.revision,
            self.raw[len(RAW_START) :],
        )


@cache
def type_head(kind: str, api_version: str) -> bytes:
    """How a document begins, up to its metadata."""
    return f'{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{{'.encode()


UNTYPED_HEAD = RAW_START
"""How the members of a list begin: the list says what they are."""


def encode_raw(document: Document) -> bytes:
    """The stored form of a document."""
    metadata = {k: v for k, v in document["metadata"].items() if k != "resourceVersion"}
    rest = {k: v for k, v in document.items() if k not in ("kind", "apiVersion", "metadata")}
    return msgspec.json.encode({"metadata": metadata} | rest)


class ChangeKind(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Change(msgspec.Struct, frozen=True):
    """One step of history. A deleted object's `record` is its last state at the new revision."""

    kind: ChangeKind
    record: StoredRecord
    previous: StoredRecord | None

    @property
    def revision(self) -> int:
        return self.record.revision


class Collection:
    def __init__(self, name: str) -> None:
        self.name = name
        self.version = 0
        """Grows with every change to what writers see."""
        self.history: deque[Change] = deque()
        self._records: dict[str, StoredRecord] = {}
        self._keys: list[str] = []
        self._pending: dict[str, Change] = {}
        """By key, the newest change that is not durable yet."""
        self._tallies = Tallies(name)

    def __len__(self) -> int:
        return len(self._records)

    @property
    def is_empty(self) -> bool:
        """Neither readers nor writers see anything in it."""
        return not self._records and not self._pending

    def get(self, key: str) -> StoredRecord | None:
        """The durable version."""
        return self._records.get(key)

    def newest(self, key: str) -> StoredRecord | None:
        """The version that the next write builds on; it may not be durable yet."""
        pending = self._pending.get(key)
        if pending is None:
            return self._records.get(key)
        return None if pending.kind is ChangeKind.DELETED else pending.record

    def pending_keys(self) -> list[str]:
        """Of objects whose newest version is not durable yet."""
        return list(self._pending)

    def keys(self, prefix: str = "", after: str = "") -> list[str]:
        """Durable keys that start with the prefix and come after a given one, in raw order."""
        start = bisect_left(self._keys, max(prefix, after))
        if after and start < len(self._keys) and self._keys[start] == after:
            start += 1
        end = bisect_left(self._keys, prefix + "\U0010ffff") if prefix else len(self._keys)
        return self._keys[start:end]

    def records(self, prefix: str = "", after: str = "") -> Iterator[StoredRecord]:
        """The durable records of `keys(prefix, after)`."""
        return map(self._records.__getitem__, self.keys(prefix, after))

    def newest_records(self, prefix: str = "") -> Iterator[StoredRecord]:
        """As writers see them, in raw order."""
        if not self._pending:
            yield from self.records(prefix)
            return
        names = set(self.keys(prefix)) | {key for key in self._pending if key.startswith(prefix)}
        for key in sorted(names):
            record = self.newest(key)
            if record is not None:
                yield record

    def at(self, revision: int) -> dict[str, StoredRecord | None]:
        """For every key changed since the revision, what it was then."""
        then: dict[str, StoredRecord | None] = {}
        for change in reversed(self.history):
            if change.revision <= revision:
                break
            then[change.record.key] = change.previous
        return then

    def since(self, revision: int) -> list[Change]:
        """Changes after the revision, oldest first."""
        newer: list[Change] = []
        for change in reversed(self.history):
            if change.revision <= revision:
                break
            newer.append(change)
        newer.reverse()
        return newer

    def is_first_version(self, record: StoredRecord) -> bool:
        """Whether the object was never updated, as far as history goes back."""
        for change in reversed(self.history):
            if change.record is record:
                return change.kind is ChangeKind.ADDED
            if change.revision < record.revision:
                break
        return False

    def find_tally(self, namespace: str, scopes: tuple[Scope, ...]) -> QuotaTally | None:
        """What writers see in the namespace, if it was counted before."""
        return self._tallies.find(namespace, scopes)

    def tally(self, namespace: str, scopes: tuple[Scope, ...]) -> QuotaTally:
        """What the objects that writers see in the namespace use up; counted once, then kept."""
        found = self.find_tally(namespace, scopes)
        if found is None:
            found = self._tallies.count(scopes, self.newest_records(f"{namespace}/"))
            self.keep_tally(namespace, scopes, found)
        return found

    def keep_tally(self, namespace: str, scopes: tuple[Scope, ...], tally: QuotaTally) -> None:
        """Of all that writers see now."""
        self._tallies.keep(namespace, scopes, tally)

    def stage(self, change: Change) -> None:
        """From now on writers see it; readers do not, until it is durable."""
        key = change.record.key
        before = self.newest(key)
        self._pending[key] = change
        self._tallies.replace(before, self.newest(key))
        self.version += 1

    def unstage_all(self) -> None:
        """Back to what is durable."""
        for key in tuple(self._pending):
            before = self.newest(key)
            del self._pending[key]
            self._tallies.replace(before, self.newest(key))
        self.version += 1

    def settle(self, change: Change) -> None:
        """The change is durable."""
        key = change.record.key
        self.history.append(change)
        if change.kind is ChangeKind.DELETED:
            del self._records[key]
            del self._keys[bisect_left(self._keys, key)]
        else:
            if change.kind is ChangeKind.ADDED:
                self._insert_key(key)
            self._records[key] = change.record
        # This very change: another deletion of the same key may be on its way behind it.
        if self._pending.get(key) is change:
            del self._pending[key]

    def _insert_key(self, key: str) -> None:
        if not self._keys or key > self._keys[-1]:
            self._keys.append(key)
        else:
            insort(self._keys, key)

    def forget(self, revision: int) -> list[int]:
        """Drop history up to the revision; the revisions whose rows are not needed any more."""
        superseded = []
        while self.history and self.history[0].revision <= revision:
            change = self.history.popleft()
            if change.previous is not None:
                superseded.append(change.previous.revision)
            if change.kind is ChangeKind.DELETED:
                superseded.append(change.revision)
        return superseded
