"""The history of a workload's template, as ControllerRevision objects.

A revision holds the template and is named after it: a template that returns gets its old revision
back, with a higher number. Revisions that no pod was made from are deleted, oldest first, beyond
the limit that the workload sets.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.workloads import ControllerRevision
from plimsoll.decide.plan import Delete, Patch, Write
from plimsoll.decide.workloads.owned import (
    REVISIONS,
    Workload,
    controller_reference,
    creation,
    deletion,
    reference_document,
)
from plimsoll.decide.workloads.pod_template import Template, data_hash, labels_of, normal

REVISION_LABEL = "controller-revision-hash"
"""Of a StatefulSet's pod: the revision's name. Of a DaemonSet's pod and of a revision: the hash."""
HASH_LABEL = "controller.kubernetes.io/hash"
NAME_LIMIT = 223
KEPT = 10
LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One state of the template, stored already or about to be."""

    name: str
    hash: str
    template: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionHistory:
    update: Revision
    """What the workload asks for now."""
    stored: tuple[ControllerRevision, ...]
    """Oldest first."""
    collisions: int
    writes: tuple[Write, ...] = ()

    def find(self, name: str) -> Revision | None:
        return next((_read(stored) for stored in self.stored if stored.name == name), None)

    def surplus(self, live: Iterable[str], limit: int | None) -> tuple[Delete, ...]:
        """Revisions to delete: not in use, and more than are kept."""
        in_use = {*live, self.update.name}
        past = [revision for revision in self.stored if revision.name not in in_use]
        kept = KEPT if limit is None else limit
        if kept < 0:
            return ()
        return tuple(deletion(REVISIONS, old) for old in past[: max(len(past) - kept, 0)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The part of a workload that its history is about."""

    workload: Workload
    owner: ApiObject
    template: Template
    collisions: int | None
    hash_label: str = HASH_LABEL


def revision_data(template: Template) -> Document:
    """A patch that would bring the template back."""
    return {"spec": {"template": dict(template) | {"$patch": "replace"}}}


def decide_history(
    of: Described,
    stored: Iterable[ControllerRevision],
    named: Mapping[ObjectKey, ControllerRevision],
) -> RevisionHistory:
    """`stored` are the workload's own revisions, `named` all that a new one could collide with."""
    ordered = tuple(sorted(stored, key=_age))
    number = ordered[-1].revision + 1 if ordered else 1
    wanted = normal(revision_data(of.template))
    equal = [revision for revision in ordered if normal(revision.data) == wanted]
    collisions = of.collisions or 0
    if not equal:
        return _begun(of, ordered, named)
    known = equal[-1]
    writes: tuple[Write, ...] = ()
    if normal(ordered[-1].data) != wanted:
        writes = (_renumbered(known, number),)
    return RevisionHistory(
        update=_read(known), stored=ordered, collisions=collisions, writes=writes
    )


def _age(revision: ControllerRevision) -> tuple[int, datetime, str]:
    return (
        revision.revision,
        revision.metadata.creation_timestamp or LONG_AGO,
        revision.name,
    )


def _read(stored: ControllerRevision) -> Revision:
    spec: Mapping[str, Any] = stored.data.get("spec") or {}
    template = {k: v for k, v in (spec.get("template") or {}).items() if k != "$patch"}
    hash_ = stored.labels.get(HASH_LABEL) or stored.labels.get(REVISION_LABEL) or ""
    return Revision(
        name=stored.name, hash=hash_ or stored.name.rpartition("-")[2], template=template
    )


def _renumbered(revision: ControllerRevision, number: int) -> Patch:
    return Patch(
        resource=REVISIONS,
        key=revision.key,
        patch={"revision": number},
        version=revision.metadata.resource_version,
        uid=revision.uid,
    )


def _begun(
    of: Described,
    ordered: tuple[ControllerRevision, ...],
    named: Mapping[ObjectKey, ControllerRevision],
) -> RevisionHistory:
    """A name that is taken for other data is a collision: their count goes into the hash."""
    data = revision_data(of.template)
    collisions = of.collisions or 0
    while True:
        hash_ = data_hash(data, collisions)
        key = ObjectKey(of.owner.namespace, f"{of.owner.name[:NAME_LIMIT]}-{hash_}")
        taken = named.get(key)
        if taken is None or normal(taken.data) == normal(data):
            break
        collisions += 1
    revision = Revision(name=key.name, hash=hash_, template=of.template)
    number = ordered[-1].revision + 1 if ordered else 1
    # One with this data may belong to a namesake that is being collected: it serves as long as it
    # is there.
    writes = () if taken is not None else (_creation(of, revision, number),)
    return RevisionHistory(update=revision, stored=ordered, collisions=collisions, writes=writes)


def _creation(of: Described, revision: Revision, number: int) -> Write:
    metadata = {
        "namespace": of.owner.namespace,
        "name": revision.name,
        "labels": labels_of(of.template) | {of.hash_label: revision.hash},
        "annotations": dict(of.owner.annotations),
        "ownerReferences": [reference_document(controller_reference(of.workload, of.owner))],
    }
    document = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "data": revision_data(of.template),
        "revision": number,
    }
    return creation(REVISIONS, document)
