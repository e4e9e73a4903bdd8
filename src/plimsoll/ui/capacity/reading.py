"""Reads from a cluster what `plimsoll capacity` looks at.

Leases and owners are worth knowing, but not every user may read them: what is forbidden is left
out, and nothing is concluded from that.
"""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple, TypeVar

from plimsoll.api.core import Lease, Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document, resources_by_kind, resources_by_path
from plimsoll.api.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.capacity.overview import ObservedCapacity
from plimsoll.decide.provisioning.intents import INTENT
from plimsoll.decide.records import RECORD
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import Kind, documents, key_of, metadata_of, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Selection

T = TypeVar("T", bound=ApiObject | Document)

CAPACITIES = documents(resources_by_path()["storage.k8s.io", "v1", "csistoragecapacities"])
NOT_TOLD = frozenset({Failure.FORBIDDEN, Failure.NOT_FOUND})


async def read(client: KubeClient) -> ObservedCapacity:
    """Closes the client."""
    try:
        return await _read(client)
    finally:
        await client.close()


async def read_consumers(client: KubeClient) -> list[ApiObject]:
    """What room is reserved for follows from these; what may not be listed is left out. Closes the
    client."""
    try:
        found: list[ApiObject] = []
        found += await _find_all(client, typed(Pod), "") or ()
        found += await _find_all(client, typed(PersistentVolumeClaim), "") or ()
        found += await _find_all(client, typed(PersistentVolume), "") or ()
        found += await _find_all(client, typed(Lease), "", labels=f"{RECORD}={INTENT}") or ()
        return found
    finally:
        await client.close()


async def _read(client: KubeClient) -> ObservedCapacity:
    lists = (
        asyncio.ensure_future(client.list(CAPACITIES)),
        asyncio.ensure_future(client.list(typed(StorageClass))),
        asyncio.ensure_future(client.list(typed(Node))),
        asyncio.ensure_future(client.list(typed(CSINode))),
        asyncio.ensure_future(client.list(typed(CSIDriver))),
    )
    # All end, also if one fails: a connection that is being opened cannot be closed.
    await asyncio.gather(*lists, return_exceptions=True)
    capacities, classes, nodes, csi_nodes, drivers = await asyncio.gather(*lists)
    objects = [from_document(CSIStorageCapacity, each) for each in capacities.items]
    leases: list[Lease] = []
    for namespace in sorted({each.namespace for each in objects}):
        leases += await _find_all(client, typed(Lease), namespace) or ()
    return ObservedCapacity(
        capacities=objects,
        classes=classes.items,
        nodes=nodes.items,
        csi_nodes=csi_nodes.items,
        drivers=drivers.items,
        leases=leases,
        changed_at=dict(_changes(capacities.items)),
        missing_owners=await _missing_owners(client, objects),
        now=client.clock.now(),
    )


async def _find_all(
    client: KubeClient, kind: Kind[T], namespace: str, labels: str = ""
) -> tuple[T, ...] | None:
    """None: the server does not tell us."""
    try:
        return (await client.list(kind, Selection(namespace=namespace, labels=labels))).items
    except KubeError as error:
        if error.failure in NOT_TOLD:
            return None
        raise


def _changes(capacities: Iterable[Document]) -> Iterable[tuple[ObjectKey, datetime]]:
    """When each was last written, as far as the server keeps account of that."""
    for document in capacities:
        metadata = document["metadata"]
        times = [metadata.get("creationTimestamp")]
        times += [entry.get("time") for entry in metadata.get("managedFields") or ()]
        known = [datetime.fromisoformat(time) for time in times if time]
        if known:
            yield key_of(document), max(known)


class Kindred(NamedTuple):
    """Owners that are found in one list."""

    api_version: str
    kind: str
    namespace: str


async def _missing_owners(client: KubeClient, objects: Iterable[CSIStorageCapacity]) -> set[str]:
    """Looked up kind by kind: there may be one owner for each node."""
    groups: dict[Kindred, set[str]] = {}
    for each in objects:
        for owner in each.metadata.owner_references:
            group = Kindred(owner.api_version, owner.kind, each.namespace)
            groups.setdefault(group, set()).add(owner.uid)
    missing: set[str] = set()
    for kindred, uids in sorted(groups.items()):
        existing = await _find_uids(client, kindred)
        missing |= set() if existing is None else uids - existing
    return missing


async def _find_uids(client: KubeClient, kindred: Kindred) -> set[str] | None:
    """None: the kind is not known, or may not be listed; that says nothing about its objects."""
    group, _, version = kindred.api_version.rpartition("/")
    resource = resources_by_kind().get((group, version, kindred.kind))
    if resource is None:
        return None
    namespace = kindred.namespace if resource.namespaced else ""
    found = await _find_all(client, documents(resource), namespace)
    return None if found is None else {metadata_of(each).uid for each in found}
