"""Finalizers as decisions write them: the whole list, and only for the version that was observed.

A merge patch replaces the list, so that on another version it could undo another program's change.
"""

from collections.abc import Iterable

from plimsoll.api.meta import ApiObject
from plimsoll.decide.plan import Patch, ResourceName


def add_finalizer(resource: ResourceName, object_: ApiObject, finalizer: str) -> Patch:
    return set_finalizers(resource, object_, (*object_.metadata.finalizers, finalizer))


def remove_finalizer(resource: ResourceName, object_: ApiObject, finalizer: str) -> Patch:
    left = (name for name in object_.metadata.finalizers if name != finalizer)
    return set_finalizers(resource, object_, left)


def set_finalizers(resource: ResourceName, object_: ApiObject, finalizers: Iterable[str]) -> Patch:
    return Patch(
        resource=resource,
        key=object_.key,
        patch={"metadata": {"finalizers": list(finalizers) or None}},
        version=object_.metadata.resource_version,
        uid=object_.uid,
    )
