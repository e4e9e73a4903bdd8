"""What a create, update or patch does to the owners of an object's fields.

The manager that changes a field owns it from then on, and no other manager does. A field that is
gone has no owner. To be called with the document that the client asks for, its defaults filled in,
before anything else changes it: what admission and the server add later has no owner.
"""

import msgspec
from msgspec.structs import replace

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.ownership import entries
from plimsoll.apiserver.model.ownership.endpoint import Endpoint
from plimsoll.apiserver.model.ownership.entries import UPDATE, ManagedFieldsEntry, Owners
from plimsoll.apiserver.model.ownership.field_set import (
    SELF,
    FieldSet,
    difference,
    in_order,
    union,
    without_subtrees,
)
from plimsoll.apiserver.model.ownership.typed_paths import ShapeError

META = frozenset({"metadata"})


class Manager(msgspec.Struct, frozen=True):
    """Who writes, and when."""

    name: str
    time: str
    """As the API writes times."""


def track_create(at: Endpoint, new: Document, manager: Manager) -> list[Document]:
    """The managedFields of a new object.

    A client may send some, and does when it moves an object from one cluster to another.
    """
    sent = new["metadata"].get("managedFields") or []
    owners = {} if not sent else entries.parse_owners(sent) or {}
    return _tracked(at, (at.nothing, new), owners, manager)


def track_update(at: Endpoint, new: Document, old: Document, manager: Manager) -> list[Document]:
    """The managedFields of an object that takes the place of `old`."""
    held = old["metadata"].get("managedFields", [])
    sent = new["metadata"].get("managedFields")
    if at.subresource or sent is None or sent == held:
        owners = entries.owners_of(held)
    elif entries.is_reset(sent):
        return []
    else:
        owners = entries.parse_owners(sent) or entries.owners_of(held)
    # Once forgotten, owners are only kept again when a client applies.
    return _tracked(at, (old, new), owners, manager) if owners else []


def _tracked(
    at: Endpoint, change: tuple[Document, Document], owners: Owners, manager: Manager
) -> list[Document]:
    try:
        changed, removed = compare(at, *change)
    except (ShapeError, RecursionError):
        # Ownership that cannot be told must not keep a client from writing.
        return []
    mine = without_metadata(changed)
    writer = ManagedFieldsEntry(
        manager=manager.name,
        operation=UPDATE,
        api_version=at.api_version,
        subresource=at.subresource,
        time=manager.time,
    )
    held = owners.get(writer.key)
    if mine and not removed and held is not None and not difference(changed, held.fields):
        # Most writes repeat one of the same manager, such as a renewal: its set stays as it is.
        others = {key: entry for key, entry in owners.items() if key != writer.key}
        owners = dispossess(at, others, changed)
        owners[writer.key] = replace(writer, fields=held.fields)
        return entries.managed_fields(entries.capped(owners))
    owners = dispossess(at, owners, union(changed, removed))
    if mine:
        left = owners.get(writer.key)
        fields = mine if left is None else union(left.fields, mine)
        owners[writer.key] = replace(writer, fields=in_order(fields))
        owners = entries.capped(owners)
    return entries.managed_fields(owners)


def is_unchanged(new: Document, old: Document) -> bool:
    """Nothing differs but, perhaps, when an owner last wrote: not worth a new version."""
    if new.keys() != old.keys() or any(new[name] != old[name] for name in new.keys() - META):
        return False  # as after most writes, which cost no more than that
    meta, old_meta = new["metadata"], old["metadata"]
    held = old_meta.get("managedFields", [])
    if entries.differ(meta.get("managedFields", []), held):
        return False
    same = {"managedFields": held}
    return bool(meta | same == old_meta | same)


def compare(at: Endpoint, old: Document, new: Document) -> tuple[FieldSet, FieldSet]:
    """The fields that are new or have another value, and those that are gone."""
    changed, removed = at.tracked.compare(old, new)
    return (
        without_subtrees(changed, at.reset) if changed else {},
        without_subtrees(removed, at.reset) if removed else {},
    )


def dispossess(at: Endpoint, owners: Owners, fields: FieldSet) -> Owners:
    """The owners without what they owned of these fields; some own nothing any more."""
    kept: Owners = {}
    for key, entry in owners.items():
        if entry.api_version != at.api_version:
            # Paths of another version are not ours to compare; of no version at all, to keep.
            if entry.api_version in at.versions:
                kept[key] = entry
            continue
        left = difference(entry.fields, fields)
        if left is entry.fields:
            kept[key] = entry
        elif left:
            kept[key] = replace(entry, fields=left)
    return kept


def without_metadata(fields: FieldSet) -> FieldSet:
    """Metadata as a whole has no owner."""
    metadata = fields.get("f:metadata")
    if metadata is None or (metadata and SELF not in metadata):
        return fields
    below = {element: node for element, node in metadata.items() if element != SELF}
    rest = {element: node for element, node in fields.items() if element != "f:metadata"}
    return rest | {"f:metadata": below} if below else rest
