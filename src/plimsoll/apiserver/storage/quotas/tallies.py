"""What quotas count in one collection, kept current from the first question on.

Without it, every write in a namespace with a quota would read all objects of the namespace.
"""

from collections.abc import Iterable
from typing import Protocol

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.quota.scopes import Scope
from plimsoll.apiserver.admission.quota.tally import QuotaTally, counted

MOST_SCOPES = 20
"""In one namespace; a quota with other scopes makes room for its own by the oldest."""


class Readable(Protocol):
    @property
    def key(self) -> str: ...

    def document(self) -> Document: ...


class Tallies:
    """By namespace, and by the scopes of quotas."""

    def __init__(self, collection: str) -> None:
        self._plural, _, self._group = collection.partition(".")
        self._kept: dict[str, dict[tuple[Scope, ...], QuotaTally]] = {}

    def find(self, namespace: str, scopes: tuple[Scope, ...]) -> QuotaTally | None:
        return self._kept.get(namespace, {}).get(scopes)

    def keep(self, namespace: str, scopes: tuple[Scope, ...], tally: QuotaTally) -> None:
        """From now on it is told of every change."""
        held = self._kept.setdefault(namespace, {})
        if len(held) >= MOST_SCOPES:
            del held[next(iter(held))]
        held[scopes] = tally

    def count(self, scopes: tuple[Scope, ...], records: Iterable[Readable]) -> QuotaTally:
        documents = (record.document() for record in records)
        return counted(self._group, self._plural, scopes, documents)

    def replace(self, old: Readable | None, new: Readable | None) -> None:
        """The newest version of an object is another one; None: there is none."""
        if not self._kept:
            return
        changed = new or old
        namespace = "" if changed is None else changed.key.rpartition("/")[0]
        kept = self._kept.get(namespace)
        if not kept:
            return
        before, after = (None if each is None else each.document() for each in (old, new))
        for tally in kept.values():
            if before is not None:
                tally.take(before)
            if after is not None:
                tally.add(after)
