"""Who owns the number of replicas, seen from a workload and from its Scale.

A Scale is not stored. Owners of `spec.replicas` are kept with the workload, and shown to those who
write the Scale as owners of the Scale's field.
"""

from msgspec.structs import replace

from plimsoll.apiserver.model.ownership.entries import ManagedFieldsEntry, Owners
from plimsoll.apiserver.model.ownership.field_set import (
    FieldSet,
    difference,
    has_path,
    in_order,
    union,
)

SCALE_VERSION = "autoscaling/v1"
PATH = ("f:spec", "f:replicas")
REPLICAS: FieldSet = {"f:spec": {"f:replicas": {}}}

Manager = tuple[str, str, str]


def of_scale(owners: Owners) -> Owners:
    """The owners of a workload that own its number of replicas, as owners of the Scale."""
    shared = (
        replace(entry, api_version=SCALE_VERSION, fields=REPLICAS)
        for entry in owners.values()
        if has_path(entry.fields, PATH)
    )
    return {entry.key: entry for entry in shared}


def of_workload(before: Owners, scale: Owners, api_version: str) -> Owners:
    """The owners of a workload after its Scale was written, whose owners are `scale`."""
    left = {_manager(e): e for e in scale.values() if has_path(e.fields, PATH)}
    owners: Owners = {}
    for key, entry in before.items():
        if not has_path(entry.fields, PATH) or left.pop(_manager(entry), None) is not None:
            owners[key] = entry
        elif fields := difference(entry.fields, REPLICAS):
            owners[key] = replace(entry, fields=fields)
    for entry in left.values():
        new = replace(entry, api_version=api_version, fields=REPLICAS)
        known = owners.get(new.key)
        if known is not None:
            new = replace(known, fields=in_order(union(known.fields, REPLICAS)))
        owners[new.key] = new
    return owners


def _manager(entry: ManagedFieldsEntry) -> Manager:
    return entry.manager, entry.operation, entry.subresource
