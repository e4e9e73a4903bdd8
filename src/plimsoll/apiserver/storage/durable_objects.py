"""The objects that are on the disk, as authenticators and authorizers read them."""

from collections.abc import Iterator

from plimsoll.apiserver.access.rbac.index import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    RoleIndex,
)
from plimsoll.apiserver.storage.collection import Change, ChangeKind, Collection, StoredRecord
from plimsoll.apiserver.storage.revisions import Revisions

INDEXED = frozenset({ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS})


class DurableObjects:
    """Implements `access.objects.ObjectSource`."""

    def __init__(self, revisions: Revisions) -> None:
        self._revisions = revisions

    def find(self, collection: str, key: str) -> StoredRecord | None:
        return self._revisions.collection(collection).get(key)

    def within(self, collection: str, namespace: str) -> Iterator[StoredRecord]:
        prefix = f"{namespace}/" if namespace else ""
        return self._revisions.collection(collection).records(prefix)


def keep_roles(index: RoleIndex, revisions: Revisions) -> None:
    """The index has what was loaded, and follows every change before it is acknowledged."""
    for name in INDEXED:
        for record in revisions.collection(name).records():
            index.put(name, _key(record), record.document())

    def follow(collection: Collection, changes: list[Change]) -> None:
        if collection.name not in INDEXED:
            return
        for change in changes:
            gone = change.kind is ChangeKind.DELETED
            document = None if gone else change.record.document()
            index.put(collection.name, _key(change.record), document)

    revisions.on_durable(follow)


def _key(record: StoredRecord) -> tuple[str, str]:
    namespace, _, name = record.key.rpartition("/")
    return (namespace, name)
