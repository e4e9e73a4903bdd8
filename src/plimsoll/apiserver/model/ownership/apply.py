"""Server-side apply: a document says what its manager wants, and no more.

What it mentions gets the value it has there, and its manager owns it from then on. What it
mentioned last time but does not mention now is removed, unless another manager owns it as well.
A field with another value that another manager owns is a conflict, unless the request takes it by
force.
"""

from dataclasses import dataclass

from msgspec.structs import replace

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.ownership import entries, last_applied, merging, tracking
from plimsoll.apiserver.model.ownership.compiled_schema import UNTRACKED_METADATA, UNTRACKED_ROOT
from plimsoll.apiserver.model.ownership.conflicts import ApplyConflictError, conflicts_with
from plimsoll.apiserver.model.ownership.endpoint import Endpoint
from plimsoll.apiserver.model.ownership.entries import APPLY, ManagedFieldsEntry, Owners
from plimsoll.apiserver.model.ownership.field_set import (
    FieldSet,
    difference,
    has_path,
    in_order,
    intersection,
    union,
    without_subtrees,
)
from plimsoll.apiserver.model.ownership.last_applied import KUBECTL
from plimsoll.apiserver.model.ownership.tracking import Manager, without_metadata

BEFORE_FIRST_APPLY = "before-first-apply"
"""Owns what was there before the server kept track of owners."""

UNTRACKED: FieldSet = {f"f:{name}": {} for name in sorted(UNTRACKED_ROOT)} | {
    "f:metadata": {f"f:{name}": {} for name in sorted(UNTRACKED_METADATA)}
}


@dataclass(frozen=True, slots=True)
class Applied:
    document: Document
    """The new object; its values are not yet read as its kind, nor its defaults filled in."""
    managed_fields: list[Document]


def apply(
    at: Endpoint, live: Document | None, wanted: Document, manager: Manager, *, force: bool
) -> Applied:
    """What becomes of `live`, or of an object that is not there yet.

    `wanted` is the document as the client sent it. Raises ApplyConflictError, and ShapeError or
    RepeatedError for what cannot be told apart. The result may share parts with `live`.
    """
    merging.check_elements(at.whole, wanted)
    try:
        applied = _applied(at, live, wanted, manager, force=force)
    except ApplyConflictError as error:
        if manager.name != KUBECTL or live is None:
            raise
        own = last_applied.fields_applied_by_client(at, live)
        left = [conflict for conflict in error.conflicts if not has_path(own, conflict.path)]
        if left:
            raise ApplyConflictError(left) from error
        applied = _applied(at, live, wanted, manager, force=True)
    if manager.name == KUBECTL:
        last_applied.refresh(applied.document, wanted)
    return applied


def _applied(
    at: Endpoint, live: Document | None, wanted: Document, manager: Manager, *, force: bool
) -> Applied:
    owners = _owners(at, live, manager)
    old = at.nothing if live is None else _without_owners(live)
    applier = ManagedFieldsEntry(
        manager=manager.name,
        operation=APPLY,
        api_version=at.api_version,
        subresource=at.subresource,
        fields=without_subtrees(merging.mentioned(at.whole, wanted), at.reset),
    )
    last = owners.pop(applier.key, None)
    new: Document = merging.merge(at.whole, old, wanted)
    if last is not None and last.api_version == at.api_version:
        new = _pruned(at, new, last.fields, _owned(at, applier, owners))
    owners = _taken(at, (old, new), owners, force=force)
    mine = without_metadata(difference(applier.fields, UNTRACKED))
    if mine:
        # Who changes nothing gets what it mentions, but no time.
        held_since = "" if last is None else last.time
        time = manager.time if new != old else held_since
        owners[applier.key] = replace(applier, fields=in_order(mine), time=time)
    return Applied(new, entries.managed_fields(owners))


def _owners(at: Endpoint, live: Document | None, manager: Manager) -> Owners:
    if live is None:
        return {}
    held = live["metadata"].get("managedFields")
    if not held:
        before = replace(manager, name=BEFORE_FIRST_APPLY)
        held = tracking.track_create(at, _without_owners(live), before)
    return entries.owners_of(held)


def _without_owners(document: Document) -> Document:
    metadata = {k: v for k, v in document["metadata"].items() if k != "managedFields"}
    return document | {"metadata": metadata}


def _owned(at: Endpoint, applier: ManagedFieldsEntry, others: Owners) -> FieldSet:
    """Everything that has an owner now."""
    owned = applier.fields
    for entry in others.values():
        if entry.api_version == at.api_version:
            owned = union(owned, entry.fields)
    return owned


def _pruned(at: Endpoint, merged: Document, last: FieldSet, owned: FieldSet) -> Document:
    """The document without what its applier mentioned last time and no manager owns any more."""
    node = at.whole

    def named(fields: FieldSet) -> FieldSet:
        return merging.with_named_fields(node, fields)

    def mentioned(document: Document | None) -> FieldSet:
        return named(merging.mentioned(node, document or {}))

    everything = mentioned(merged)
    untouched = mentioned(merging.without(node, merged, named(last)))
    unowned = difference(everything, union(untouched, named(owned)))
    kept = mentioned(merging.without(node, merged, unowned))
    # Of all that no manager owns, only what was applied before goes.
    gone = intersection(difference(everything, kept), named(last))
    pruned: Document = merging.without(node, merged, gone)
    return pruned


def _taken(
    at: Endpoint, change: tuple[Document, Document], others: Owners, *, force: bool
) -> Owners:
    """The other owners after the change, if they let it happen."""
    changed, removed = tracking.compare(at, *change)
    if not force:
        known = [entry for entry in others.values() if entry.api_version == at.api_version]
        conflicts = list(conflicts_with(known, changed))
        if conflicts:
            raise ApplyConflictError(conflicts)
    return tracking.dispossess(at, others, union(changed, removed))
