"""Keeps the status of definitions true: names are accepted together with the write that frees them.

No controller is needed for that: the new status is staged right after the change that made it
necessary, so that a definition is served as soon as it is durable.
"""

from collections.abc import Iterator
from functools import cache

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document, resources_by_path
from plimsoll.apiserver.model.custom.definition import conditions
from plimsoll.apiserver.model.ownership.endpoint import endpoint
from plimsoll.apiserver.model.ownership.tracking import Manager, track_update
from plimsoll.apiserver.storage.cluster import StoredCluster, timestamp
from plimsoll.apiserver.storage.resource_kinds import ResourceKind, kind_of

MANAGER = "kube-apiserver"


@cache
def definitions_kind() -> ResourceKind:
    return kind_of(resources_by_path()["apiextensions.k8s.io", "v1", "customresourcedefinitions"])


def refresh(cluster: StoredCluster) -> None:
    """Stage the status of every definition that has names to be accepted."""
    found = dict(_newest(cluster))
    for name in sorted(found):
        if not conditions.is_settled(found[name]):
            found[name] = _settled(cluster, name, found)


def _newest(cluster: StoredCluster) -> Iterator[tuple[str, Document]]:
    """All definitions as writers see them; those that are durable need not be read again."""
    collection = cluster.collection(definitions_kind())
    known = dict(cluster.custom.known())
    for name in {*known, *collection.pending_keys()}:
        record = collection.newest(name)
        held = known.get(name)
        if record is None:
            continue
        is_known = held is not None and held.revision == record.revision
        yield name, held.document if is_known and held else record.document()


def _settled(cluster: StoredCluster, name: str, found: dict[str, Document]) -> Document:
    old = _typed(found[name])
    new: Document = clone(old)
    now = timestamp(cluster.clock.now())
    others = (each for other, each in found.items() if other != name)
    conditions.settle_names(new, others, now)
    if new == old:
        return found[name]
    put_status(cluster, name, new, old)
    return new


def put_status(cluster: StoredCluster, name: str, new: Document, old: Document) -> None:
    """Stage a definition whose status the server itself has changed."""
    kind = definitions_kind()
    now = timestamp(cluster.clock.now())
    owners = track_update(endpoint(kind.resource, "status"), new, old, Manager(MANAGER, now))
    if owners:
        new["metadata"]["managedFields"] = owners
    cluster.put(kind, name, new)


def _typed(definition: Document) -> Document:
    resource = definitions_kind().resource
    return {"kind": resource.kind, "apiVersion": resource.api_version} | definition
