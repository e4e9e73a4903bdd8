"""A large write is decided beside the event loop, and staged if nothing it looked at has changed.

Small writes are decided on the event loop without waiting, so that no other write can come in
between. A large one would hold the loop for too long: it is decided by a thread on a `Draft`, which
remembers every object that was read and keeps every change to itself. `commit` runs on the loop
again. It stages all changes, or none when the decision was overtaken; then the write is decided
once more.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from plimsoll.apiserver.admission.quota.scopes import Scope
from plimsoll.apiserver.admission.quota.tally import QuotaTally
from plimsoll.apiserver.storage.collection import Change, ChangeKind, Collection, StoredRecord
from plimsoll.apiserver.storage.revisions import Revisions

T = TypeVar("T")


class DraftCollection(Collection):
    """A collection as one thread sees it: what is stored, and below it what the draft changes."""

    def __init__(self, real: Collection) -> None:
        super().__init__(real.name)
        self._real = real
        self._read: dict[str, StoredRecord | None] = {}
        self._listed_at: int | None = None
        """The real collection's version when all of it was looked at."""
        self._counted: dict[tuple[str, tuple[Scope, ...]], QuotaTally] = {}
        """What was counted of it, and can be kept."""

    def is_current(self) -> bool:
        """Nothing that was read here has changed since."""
        if self._listed_at is not None and self._listed_at != self._real.version:
            return False
        return all(self._real.newest(key) is record for key, record in self._read.items())

    @property
    def is_empty(self) -> bool:
        return not self._pending and not self._listed(lambda: not self._real.is_empty)

    def newest(self, key: str) -> StoredRecord | None:
        if key in self._pending:
            change = self._pending[key]
            return None if change.kind is ChangeKind.DELETED else change.record
        return self._read.setdefault(key, self._real.newest(key))

    def pending_keys(self) -> list[str]:
        return [*self._listed(self._real.pending_keys), *self._pending]

    def newest_records(self, prefix: str = "") -> Iterator[StoredRecord]:
        stored = self._listed(lambda: list(self._real.newest_records(prefix)))
        found = {record.key: record for record in stored}
        for key in self._pending:
            if key.startswith(prefix):
                found.pop(key, None)
                record = self.newest(key)
                if record is not None:
                    found[key] = record
        return iter([found[key] for key in sorted(found)])

    def is_first_version(self, record: StoredRecord) -> bool:
        return self._listed(lambda: self._real.is_first_version(record))

    def tally(self, namespace: str, scopes: tuple[Scope, ...]) -> QuotaTally:
        """A count of its own, with what the draft changes."""
        stored = self._counted.get((namespace, scopes))
        if stored is None:
            stored = self._listed(lambda: self._count(namespace, scopes))
            self._counted[namespace, scopes] = stored
        tally = stored.copy()
        for key in self._pending:
            if key.rpartition("/")[0] == namespace:
                self._replace(tally, key)
        return tally

    def _count(self, namespace: str, scopes: tuple[Scope, ...]) -> QuotaTally:
        kept = self._real.find_tally(namespace, scopes)
        if kept is not None:
            return kept.copy()
        return self._tallies.count(scopes, list(self._real.newest_records(f"{namespace}/")))

    def _replace(self, tally: QuotaTally, key: str) -> None:
        before, after = self._real.newest(key), self.newest(key)
        if before is not None:
            tally.take(before.document())
        if after is not None:
            tally.add(after.document())

    def hand_over(self) -> None:
        """What was counted is kept. On the event loop, while the draft is current."""
        for (namespace, scopes), tally in self._counted.items():
            if self._real.find_tally(namespace, scopes) is None:
                self._real.keep_tally(namespace, scopes, tally)

    def _listed(self, look: Callable[[], T]) -> T:
        """A look at many objects, repeated until the event loop changed none of them meanwhile."""
        while True:
            version = self._real.version
            try:
                found = look()
            except (KeyError, RuntimeError):
                continue  # a container changed while it was being walked through
            if self._real.version == version:
                self._listed_at = version if self._listed_at is None else self._listed_at
                return found


class Draft:
    """Changes that are decided but not staged; the same interface to writers as `Revisions`."""

    def __init__(self, revisions: Revisions) -> None:
        self._revisions = revisions
        self._first = revisions.next_revision
        self._collections: dict[str, DraftCollection] = {}
        self._staged: list[tuple[DraftCollection, Change]] = []
        self._needs: list[Callable[[], bool]] = []

    def collection(self, name: str) -> DraftCollection:
        if name not in self._collections:
            self._collections[name] = DraftCollection(self._revisions.collection(name))
        return self._collections[name]

    @property
    def next_revision(self) -> int:
        """For the time being: other writes may take it before the draft is committed."""
        return self._first + len(self._staged)

    def stage(self, collection: Collection, change: Change) -> None:
        drafted = self.collection(collection.name)
        self._staged.append((drafted, change))
        drafted.stage(change)

    def need(self, holds: Callable[[], bool]) -> None:
        """The decision counts for as long as this is true."""
        self._needs.append(holds)

    def is_current(self) -> bool:
        current = all(collection.is_current() for collection in self._collections.values())
        return current and all(holds() for holds in self._needs)

    def commit(self) -> bool:
        """On the event loop: stage everything, unless what it was decided on has changed."""
        if not self.is_current():
            return False
        for collection in self._collections.values():
            collection.hand_over()
        for drafted, change in self._staged:
            # Only the draft knows the record yet, and the answer to the client shows this number.
            msgspec.structs.force_setattr(change.record, "revision", self._revisions.next_revision)
            self._revisions.stage(self._revisions.collection(drafted.name), change)
        return True
