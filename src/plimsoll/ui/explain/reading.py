"""Reads from a cluster what `plimsoll explain` looks at.

Without the objects that decisions look at there is no answer. Events, leases and snapshots are
worth knowing, but not every user may read them: what is forbidden is remarked, and nothing is
concluded from its absence.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from plimsoll.api.core import Event, Lease, Namespace, Node, Service
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document, Resource, all_resources, resources_by_path
from plimsoll.api.snapshots import VolumeSnapshot
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.api.workloads import ReplicaSet, ReplicationController, StatefulSet
from plimsoll.decide.annotations import STORAGE_PROVISIONER
from plimsoll.decide.capacity.overview import ObservedCapacity, overview_of
from plimsoll.decide.explain.evidence import Evidence
from plimsoll.decide.explain.provisioning import SNAPSHOT, handed_over_to
from plimsoll.decide.scheduling.reasons import SeenObject
from plimsoll.decide.scheduling.rules.volume_binding.claims import is_fully_bound
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import Kind, documents, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import EVERYTHING, UNFINISHED_PODS, Selection

T = TypeVar("T", bound=ApiObject)

KINDS: tuple[type[ApiObject], ...] = (
    Node,
    StorageClass,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    VolumeAttachment,
    PersistentVolume,
    PersistentVolumeClaim,
)
SPREADING: tuple[type[ApiObject], ...] = (
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
)
"""Which pods are alike, by which nodes are scored: they refuse no node."""
CLAIMS = documents(resources_by_path()["", "v1", "persistentvolumeclaims"])
AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Ages:
    """How long ago an object was made and last written; None: not known."""

    since_made: timedelta | None = None
    since_changed: timedelta | None = None


NO_AGES = Ages()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReading:
    objects: tuple[ApiObject, ...]
    """Everything that decisions look at."""
    evidence: Evidence
    remarks: tuple[str, ...]
    """What could not be read."""

    def all(self, type_: type[T]) -> list[T]:
        return [each for each in self.objects if isinstance(each, type_)]


async def read_cluster(
    client: KubeClient, namespace: str, record_namespaces: frozenset[str] = frozenset()
) -> ClusterReading:
    """`namespace` is that of what is explained. Records are believed in `record_namespaces`; empty:
    where the scheduler says that it believes them."""
    lists = [asyncio.ensure_future(client.list(typed(type_), EVERYTHING)) for type_ in KINDS]
    # All end, also if one fails: a connection that is being opened cannot be closed.
    await asyncio.gather(*lists, return_exceptions=True)
    pages = await asyncio.gather(*lists)
    pods = await client.list(typed(Pod), UNFINISHED_PODS)
    remarks: list[str] = []
    own = Selection(namespace=namespace)
    spreading = [await _if_allowed(client, typed(type_), own, remarks) for type_ in SPREADING]
    namespaces = await _if_allowed(client, typed(Namespace), EVERYTHING, remarks)
    objects = (
        *(item for page in pages for item in page.items),
        *pods.items,
        *(namespaces or ()),
        *(item for found in spreading for item in found or ()),
    )
    events = await _if_allowed(client, typed(Event), Selection(namespace=namespace), remarks)
    leases = await _if_allowed(client, typed(Lease), EVERYTHING, remarks)
    evidence = Evidence(
        now=client.clock.now(), events=events, leases=leases, asked_namespaces=record_namespaces
    )
    if elsewhere := ", ".join(sorted(evidence.unbelieved_namespaces)):
        remarks.append(
            f"records in {elsewhere} are not believed: a tenant may have written them. If "
            "provisioners or schedulers keep theirs there, say so with --record-namespaces"
        )
    found = ClusterReading(objects=objects, evidence=evidence, remarks=tuple(remarks))
    evidence = replace(
        found.evidence,
        attachments=tuple(found.all(VolumeAttachment)),
        capacity=overview_of(_capacity(found, leases)) if leases is not None else None,
    )
    return replace(found, evidence=evidence)


async def _if_allowed(
    client: KubeClient, kind: Kind[T], selection: Selection, remarks: list[str]
) -> tuple[T, ...] | None:
    try:
        return (await client.list(kind, selection)).items
    except KubeError as error:
        if error.failure is not Failure.FORBIDDEN:
            raise
        plural = kind.resource.plural
        remarks.append(f"{plural} may not be listed: nothing is concluded from them")
        return None


def _capacity(found: ClusterReading, leases: Iterable[Lease]) -> ObservedCapacity:
    return ObservedCapacity(
        capacities=found.all(CSIStorageCapacity),
        classes=found.all(StorageClass),
        nodes=found.all(Node),
        csi_nodes=found.all(CSINode),
        drivers=found.all(CSIDriver),
        leases=[*leases],
        now=found.evidence.now,
    )


async def look_closer(
    client: KubeClient, found: ClusterReading, claims: Iterable[ObjectKey]
) -> ClusterReading:
    """Also what only these claims make worth reading: their sources, and when they were handed
    over to a provisioner."""
    keys = set(claims)
    unbound = [
        claim
        for claim in found.all(PersistentVolumeClaim)
        if claim.key in keys and not is_fully_bound(claim)
    ]
    remarks = [*found.remarks]
    snapshots = await _snapshots(client, unbound, remarks)
    handed_over = [claim.key for claim in unbound if handed_over_to(claim)]
    times = await asyncio.gather(*(_handed_over_at(client, key) for key in handed_over))
    known = {key: at for key, at in zip(handed_over, times, strict=True) if at}
    evidence = replace(found.evidence, snapshots=snapshots, handed_over_at=known)
    return replace(found, evidence=evidence, remarks=tuple(remarks))


async def _snapshots(
    client: KubeClient, claims: Iterable[PersistentVolumeClaim], remarks: list[str]
) -> Mapping[ObjectKey, VolumeSnapshot] | None:
    found: dict[ObjectKey, VolumeSnapshot] = {}
    for claim in claims:
        source = claim.spec.data_source_ref or claim.spec.data_source
        if source is None or source.kind != SNAPSHOT:
            continue
        key = ObjectKey(source.namespace or claim.namespace, source.name)
        try:
            snapshot = await client.find(typed(VolumeSnapshot), key)
        except KubeError as error:
            if error.failure is not Failure.FORBIDDEN:
                raise
            remarks.append("snapshots may not be read: nothing is concluded from them")
            return None
        if snapshot is not None:
            found[key] = snapshot
    return found


async def _handed_over_at(client: KubeClient, key: ObjectKey) -> datetime | None:
    """When the annotation that names the provisioner was last written, as far as the server keeps
    account of that."""
    document = await client.find(CLAIMS, key)
    for entry in (document or {}).get("metadata", {}).get("managedFields") or ():
        fields = entry.get("fieldsV1", {}).get("f:metadata", {}).get("f:annotations", {})
        if f"f:{STORAGE_PROVISIONER}" in fields and entry.get("time"):
            return datetime.fromisoformat(entry["time"])
    return None


# Ages


async def read_ages(client: KubeClient, seen: Iterable[SeenObject]) -> dict[SeenObject, Ages]:
    """Of the objects that are named; there are as many as groups of nodes."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def age(each: SeenObject) -> tuple[SeenObject, Ages]:
        async with limit:
            return each, await _age(client, each)

    return dict(await asyncio.gather(*map(age, sorted(seen))))


async def _age(client: KubeClient, seen: SeenObject) -> Ages:
    resource = _resource(seen.kind)
    if resource is None:
        return NO_AGES
    try:
        found = await client.find(documents(resource), seen.key)
    except KubeError as error:
        if error.failure is not Failure.FORBIDDEN:
            raise
        return NO_AGES
    return NO_AGES if found is None else _ages_of(found, client.clock.now())


def _ages_of(document: Document, now: datetime) -> Ages:
    metadata = document["metadata"]
    times = [metadata.get("creationTimestamp")]
    times += [entry.get("time") for entry in metadata.get("managedFields") or ()]
    known = [datetime.fromisoformat(time) for time in times if time]
    if not known or not metadata.get("creationTimestamp"):
        return NO_AGES
    return Ages(now - datetime.fromisoformat(metadata["creationTimestamp"]), now - max(known))


def _resource(kind: str) -> Resource | None:
    for resource in all_resources():
        if resource.kind == kind and resource.version == "v1" and resource.verbs:
            return resource
    return None
