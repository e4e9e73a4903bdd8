"""`metadata.managedFields`: one entry for each manager, and what it owns.

A manager is told apart by its name, how it writes (Update or Apply) and through which subresource;
those that update also by the version of the API that they use.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.ownership import field_set
from plimsoll.apiserver.model.ownership.field_set import FieldSet

APPLY = "Apply"
UPDATE = "Update"
UNKNOWN = "unknown"
"""The name of a manager that gives none."""
NAME_LIMIT = 128
UPDATERS_LIMIT = 10
ANCIENT = "ancient-changes"
"""Owns what the oldest of too many updaters owned."""

Key = tuple[str, str, str, str]


class ManagedFieldsEntry(msgspec.Struct, frozen=True, kw_only=True):
    manager: str
    operation: str
    api_version: str
    subresource: str = ""
    time: str = ""
    """When the manager last changed the object; empty if it never did."""
    fields: FieldSet = msgspec.field(default_factory=dict)

    @property
    def key(self) -> Key:
        version = self.api_version if self.operation == UPDATE else ""
        return self.manager, self.operation, version, self.subresource

    @property
    def document(self) -> Document:
        document: Document = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
        }
        if self.time:
            document["time"] = self.time
        document["fieldsType"] = "FieldsV1"
        document["fieldsV1"] = self.fields
        if self.subresource:
            document["subresource"] = self.subresource
        return document


Owners = dict[Key, ManagedFieldsEntry]


def manager_name(given: str, user_agent: str) -> str:
    """The manager of a request: the one it names, or the program that sent it."""
    if given:
        return given
    printable = "".join(c for c in user_agent.partition("/")[0] if c.isprintable())
    return printable.encode()[:NAME_LIMIT].decode(errors="ignore") or UNKNOWN


def owners_of(managed_fields: Iterable[Document]) -> Owners:
    """The entries of an object that was stored."""
    owners: Owners = {}
    for stored in managed_fields:
        entry = ManagedFieldsEntry(
            manager=stored.get("manager", ""),
            operation=stored["operation"],
            api_version=stored["apiVersion"],
            subresource=stored.get("subresource", ""),
            time=stored.get("time", ""),
            fields=stored.get("fieldsV1", {}),
        )
        owners[entry.key] = entry
    return owners


def parse_owners(managed_fields: Iterable[Any]) -> Owners | None:
    """The entries that a client sent; None when they are not right."""
    try:
        entries = list(managed_fields)
        if not all(_is_readable(entry) for entry in entries):
            return None
        return owners_of(
            entry | {"fieldsV1": field_set.in_order(field_set.parse(entry.get("fieldsV1") or {}))}
            for entry in entries
        )
    except (field_set.UnreadableSetError, RecursionError):
        return None


def _is_readable(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and entry.get("operation") in (APPLY, UPDATE)
        and bool(entry.get("apiVersion"))
        and entry.get("fieldsType") == "FieldsV1"
    )


def is_reset(managed_fields: Any) -> bool:
    """The client asks to forget all owners."""
    return managed_fields in ([], [{}])


def managed_fields(owners: Owners) -> list[Document]:
    """The entries as the object shows them: appliers first, then by age."""
    if len(owners) == 1:
        return [entry.document for entry in owners.values()]
    return [entry.document for entry in sorted(owners.values(), key=_order)]


def _order(entry: ManagedFieldsEntry) -> tuple[str, ...]:
    return entry.operation, entry.time, entry.manager, entry.api_version, entry.subresource


def differ(new: list[Document], old: list[Document]) -> bool:
    """There is more to it than other times."""
    return [_timeless(entry) for entry in new] != [_timeless(entry) for entry in old]


def _timeless(entry: Document) -> Document:
    return {name: value for name, value in entry.items() if name != "time"}


def capped(owners: Owners) -> Owners:
    """Too many updaters: the oldest of each version of the API become one."""
    updaters = sorted(
        (entry for entry in owners.values() if entry.operation == UPDATE),
        key=lambda entry: (entry.time, *entry.key),
    )
    surplus = len(updaters) - UPDATERS_LIMIT
    if surplus <= 0:
        return owners
    kept = dict(owners)
    first_by_version: dict[str, ManagedFieldsEntry] = {}
    for entry in updaters:
        if surplus <= 0:
            break
        first = first_by_version.setdefault(entry.api_version, entry)
        if first is entry:
            continue
        bucket = ManagedFieldsEntry(
            manager=ANCIENT, operation=UPDATE, api_version=entry.api_version
        )
        gathered = kept.get(bucket.key) or kept.pop(first.key)
        del kept[entry.key]
        fields = field_set.in_order(field_set.union(gathered.fields, entry.fields))
        kept[bucket.key] = replace(bucket, time=entry.time, fields=fields)
        surplus -= 1
    return kept
