"""Statuses as decisions write them back. A merge patch replaces a whole list of conditions."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

import msgspec

from plimsoll.api.meta import ApiObject, Condition, wire_time
from plimsoll.api.registry import Document
from plimsoll.decide.plan import Patch, ResourceName


def status_patch(resource: ResourceName, object_: ApiObject, status: Document) -> Patch:
    """Only for the version that was observed: a later write by another client is not undone."""
    return Patch(
        resource=resource,
        key=object_.key,
        patch={"status": status},
        version=object_.metadata.resource_version,
        uid=object_.uid,
        subresource="status",
    )


def status_patch_of_any_version(
    resource: ResourceName, object_: ApiObject, status: Document
) -> Patch:
    """For statuses that only one writer has: it makes no difference what else has changed."""
    return replace(status_patch(resource, object_, status), version="")


def condition_document(condition: Condition) -> Document:
    fields: Document = msgspec.to_builtins(condition, builtin_types=(datetime,))
    return {
        name: wire_time(value) if isinstance(value, datetime) else value
        for name, value in fields.items()
    }


def with_conditions(
    conditions: Iterable[Condition], changed: Iterable[Condition]
) -> list[Document]:
    """The changed ones in their places, new ones at the end; all others stay as they are."""
    by_type = {condition.type: condition for condition in changed}
    kept = [by_type.pop(condition.type, condition) for condition in conditions]
    return [condition_document(condition) for condition in (*kept, *by_type.values())]
