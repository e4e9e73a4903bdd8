"""Renewals of leases: most writes of a cluster at rest.

A renewal gives a lease another `renewTime`, and leaves everything else as it is stored: there is
nothing to default, to compare or to validate again. What is not plainly a renewal is left to the
way that all writes go. Both ways come to the same lease.
"""

from typing import Any

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.model import scalars
from plimsoll.apiserver.model.ownership.entries import UPDATE, UPDATERS_LIMIT
from plimsoll.apiserver.model.ownership.tracking import Manager

RENEWED = "renewTime"
OWNED = "f:renewTime"


def renewed_by_patch(held: Document, raw: bytes, body: Any) -> Document | None:
    """The lease after a merge patch, which says nothing else that is new; None: this is for the
    ordinary way. `held` has a resourceVersion, as all that is stored."""
    if not isinstance(body, dict) or body.keys() != {"spec"} or not _can_be_renewed(held):
        return None
    given, spec = body["spec"], held["spec"]
    if not isinstance(given, dict):
        return None
    said = {name: spec.get(name) for name in given}
    return _renewed(held, given.get(RENEWED), {"spec": said}, (raw, body))


def renewed_by_update(held: Document, raw: bytes, body: Any) -> Document | None:
    """The same for an update, which says everything that is stored, its version included."""
    if not isinstance(body, dict) or not _can_be_renewed(held):
        return None
    given = body.get("spec")
    return (
        None if type(given) is not dict else _renewed(held, given.get(RENEWED), held, (raw, body))
    )


def _can_be_renewed(held: Document) -> bool:
    return RENEWED in (held.get("spec") or ()) and "deletionTimestamp" not in held["metadata"]


def _renewed(
    held: Document, time: Any, said: Document, request: tuple[bytes, Document]
) -> Document | None:
    """`said` is what the request repeats of the stored lease."""
    spec = held["spec"]
    if time == spec[RENEWED] or not _is_micro_time(time):
        return None
    raw, body = request
    canonical = _canonical(body)
    if canonical != _canonical(said | {"spec": said["spec"] | {RENEWED: time}}):
        return None
    if b"\\" in raw or raw.count(b'"') != canonical.count(b'"'):  # a key may be there twice
        return None
    return held | {"spec": spec | {RENEWED: time}}


def _canonical(document: Document) -> bytes:
    """The same for the same values of the same types."""
    return msgspec.json.encode(document, order="deterministic")


def _is_micro_time(value: Any) -> bool:
    try:
        return type(value) is str and scalars.micro_time(value, []) == value
    except scalars.SchemaError:
        return False


def renewed_owners(held: list[Document], api_version: str, by: Manager) -> list[Document] | None:
    """The managedFields after a renewal by the manager that has renewed the lease before.

    None: it is another one, or more is to be done than to note the time.
    """
    if len(held) > UPDATERS_LIMIT:
        return None
    owners = []
    writers = 0
    for entry in held:
        if entry["apiVersion"] != api_version or "time" not in entry:
            return None
        if OWNED in (entry.get("fieldsV1", {}).get("f:spec") or ()):
            if not _is_of(entry, by):
                return None
            writers += 1
            owners.append(entry | {"time": by.time})
        else:
            owners.append(entry)
    if writers != 1:
        return None
    return owners if len(owners) == 1 else sorted(owners, key=_order)


def _is_of(entry: Document, manager: Manager) -> bool:
    return (
        entry.get("manager", "") == manager.name
        and entry["operation"] == UPDATE
        and not entry.get("subresource")
    )


def _order(entry: Document) -> tuple[str, ...]:
    """As `entries` sorts them."""
    return (
        entry["operation"],
        entry["time"],
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )
