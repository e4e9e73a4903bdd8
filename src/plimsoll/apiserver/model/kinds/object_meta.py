"""The rules of `metadata`, which are the same for every kind.

Two halves: what the server does to metadata before it looks at the rest of a request
(`prepare_meta_create`, `prepare_meta_update`), and what it refuses (`object_meta_errors`,
`object_meta_update_errors`). Uids, times and random suffixes are arguments.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from plimsoll.api.names import (
    label_value_errors,
    name_is_dns_label,
    name_is_path_segment,
    qualified_name_errors,
)
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError

ANNOTATIONS_LIMIT = 256 * 1024
MANAGER_LIMIT = 128
SUBRESOURCE_LIMIT = 256
GENERATED_PREFIX_LIMIT = 58
"""Longest part of a generateName that is kept: a name of 63 less the suffix of five."""

IMMUTABLE = "field is immutable"
STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
OPERATIONS = ("Apply", "Update")
FIXED_FIELDS = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)

CHECKED_FIELDS = (
    "name",
    "namespace",
    "generateName",
    "generation",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
)

NameErrors = Callable[[str, bool], list[str]]


# What the server changes


def generated_name(prefix: str, suffix: str) -> str:
    """The name made from generateName, never longer than the shortest limit of any kind."""
    return prefix[:GENERATED_PREFIX_LIMIT] + suffix


def prepare_meta_create(
    meta: Document, *, uid: str, created: str, suffix: str, namespace: str
) -> None:
    """Give a new object its identity and forget what a client may not decide about it.

    `namespace` is the one of the request, empty for kinds that have none. That a client names
    another one is for the caller to refuse; for kinds without namespaces it is forgotten.
    """
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "namespace"):
        meta.pop(field, None)
    if namespace:
        meta["namespace"] = namespace
    if meta.get("generateName") and not meta.get("name"):
        meta["name"] = generated_name(meta["generateName"], suffix)
    meta["uid"] = uid
    meta["creationTimestamp"] = created
    _drop_unreadable_managers(meta)


def prepare_meta_update(new: Document, old: Document) -> None:
    """Carry over what an update cannot change: these differences are ignored, not refused."""
    new.pop("selfLink", None)
    _keep("generation", new, old)
    _keep("creationTimestamp", new, old)
    if not new.get("uid"):
        _keep("uid", new, old)
    if not new.get("namespace") or "namespace" not in old:
        _keep("namespace", new, old)
    if "deletionTimestamp" in old:
        new["deletionTimestamp"] = old["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in old:
        new.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])
    _drop_unreadable_managers(new)
    if "managedFields" not in new:
        _keep("managedFields", new, old)


def keep_meta(new: Document, old: Document, fields: Iterable[str]) -> None:
    """Put back what an endpoint leaves alone, whatever the client says about it."""
    for field in fields:
        _keep(field, new, old)


def drop_repeated_owners(meta: Document) -> list[str]:
    """Remove owner references that occur twice; returns the warning that the client gets."""
    owners = meta.get("ownerReferences") or ()
    if len(owners) <= 1:
        return []
    kept: dict[bytes, Document] = {}
    repeated = [
        owner.get("uid", "")
        for owner in owners
        if kept.setdefault(msgspec.json.encode(owner, order="sorted"), owner) is not owner
    ]
    if not repeated:
        return []
    meta["ownerReferences"] = list(kept.values())
    text = ".metadata.ownerReferences contains duplicate entries, which are stored once"
    return [f"{text}; duplicate UID(s) observed: {', '.join(repeated)}"]


def _keep(field: str, new: Document, old: Document) -> None:
    new.pop(field, None)
    if field in old:
        new[field] = old[field]


def _drop_unreadable_managers(meta: Document) -> None:
    """Field ownership that cannot be read is begun anew instead of refusing the request."""
    entries = meta.get("managedFields", [])
    for entry in entries:
        if not _is_readable_manager(entry):
            break
    else:
        if entries:
            return
    meta.pop("managedFields", None)


def _is_readable_manager(entry: Document) -> bool:
    return (
        entry.get("operation") in OPERATIONS
        and bool(entry.get("apiVersion"))
        and entry.get("fieldsType") == "FieldsV1"
    )


# What the server refuses


def object_meta_errors(
    meta: Document,
    path: str,
    *,
    namespaced: bool,
    name_errors: NameErrors,
    plain_finalizers: bool = False,
) -> Iterator[FieldError]:
    """Everything wrong with the metadata of a new object, whose name is generated already.

    `plain_finalizers`: a few kinds accept finalizers without a domain.
    """
    prefix = meta.get("generateName", "")
    if prefix:
        for error in name_errors(prefix, True):
            yield FieldError.invalid(f"{path}.generateName", prefix, error)
    name = meta.get("name", "")
    if not name:
        yield FieldError.required(f"{path}.name", "name or generateName is required")
    else:
        for error in name_errors(name, False):
            yield FieldError.invalid(f"{path}.name", name, error)
    yield from _namespace_errors(meta.get("namespace", ""), path, namespaced=namespaced)
    yield from _content_errors(meta, path, plain_finalizers=plain_finalizers)


def object_meta_update_errors(
    new: Document,
    old: Document,
    path: str,
    *,
    prefix_errors: NameErrors | None = None,
    plain_finalizers: bool = False,
) -> Iterator[FieldError]:
    """Everything wrong with the metadata of an object that takes the place of `old`.

    What is as it was when it was stored was right then; most updates change nothing here but who
    owns which fields. The name's format is not looked at again beyond what a URL needs: it cannot
    have changed. Some kinds have rules for a generateName (`prefix_errors`) that comes later.
    """
    if "deletionTimestamp" in old:
        yield from _added_finalizers(new, old, path)
    if new.get("generation", 0) < old.get("generation", 0):
        yield FieldError.invalid(
            f"{path}.generation", new.get("generation", 0), "must not be decremented"
        )
    changed = {field for field in new if field not in old or new[field] != old[field]}
    changed |= old.keys() - new.keys()
    for field in FIXED_FIELDS if changed else ():
        if field in changed and new.get(field) != old.get(field):
            yield FieldError.invalid(f"{path}.{field}", new.get(field), IMMUTABLE)
    if changed.isdisjoint(CHECKED_FIELDS):
        yield from _managed_fields_errors(new.get("managedFields", ()), f"{path}.managedFields")
        return
    yield from object_meta_errors(
        new,
        path,
        namespaced="namespace" in old,
        name_errors=name_is_path_segment,
        plain_finalizers=plain_finalizers,
    )
    prefix = new.get("generateName", "")
    if prefix and prefix_errors is not None:
        for error in prefix_errors(prefix, True):
            yield FieldError.invalid(f"{path}.generateName", prefix, error)


def label_errors(labels: Mapping[str, str], path: str) -> Iterator[FieldError]:
    for key, value in labels.items():
        for error in qualified_name_errors(key):
            yield FieldError.invalid(path, key, error)
        for error in label_value_errors(value):
            yield FieldError.invalid(path, value, error)


def annotation_errors(annotations: Mapping[str, str], path: str) -> Iterator[FieldError]:
    total = 0
    for key, value in annotations.items():
        total += len(key.encode()) + len(value.encode())
        for error in qualified_name_errors(key.lower()):
            yield FieldError.invalid(path, key, error)
    if total > ANNOTATIONS_LIMIT:
        yield FieldError.too_long(path, ANNOTATIONS_LIMIT)


def owner_errors(owners: Sequence[Document], path: str) -> Iterator[FieldError]:
    for index, owner in enumerate(owners):
        yield from _one_owner_errors(owner, f"{path}[{index}]")
    controllers = [f"{o.get('kind')}/{o.get('name')}" for o in owners if o.get("controller")]
    for other in controllers[1:]:
        yield FieldError.invalid(
            path,
            owners,
            "Only one reference can have Controller set to true. "
            f'Found "true" in references for {controllers[0]} and {other}',
        )


def finalizer_errors(
    finalizers: Sequence[str], path: str, *, plain_finalizers: bool = False
) -> Iterator[FieldError]:
    for finalizer in finalizers:
        for error in qualified_name_errors(finalizer):
            yield FieldError.invalid(path, finalizer, error)
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        yield FieldError.invalid(
            path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set"
        )
    for index, finalizer in enumerate(finalizers):
        if not plain_finalizers and "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            yield FieldError.invalid(
                f"{path}[{index}]",
                finalizer,
                "name is neither a standard finalizer name nor is it fully qualified",
            )


def _namespace_errors(namespace: str, path: str, *, namespaced: bool) -> Iterator[FieldError]:
    if not namespaced:
        if namespace:
            yield FieldError.forbidden(f"{path}.namespace", "not allowed on this type")
    elif not namespace:
        yield FieldError.required(f"{path}.namespace")
    else:
        for error in name_is_dns_label(namespace, False):
            yield FieldError.invalid(f"{path}.namespace", namespace, error)


def _content_errors(meta: Document, path: str, *, plain_finalizers: bool) -> Iterator[FieldError]:
    generation = meta.get("generation", 0)
    if generation < 0:
        yield FieldError.invalid(
            f"{path}.generation", generation, "must be greater than or equal to 0"
        )
    yield from label_errors(meta.get("labels", {}), f"{path}.labels")
    yield from annotation_errors(meta.get("annotations", {}), f"{path}.annotations")
    yield from owner_errors(meta.get("ownerReferences", ()), f"{path}.ownerReferences")
    yield from finalizer_errors(
        meta.get("finalizers", ()), f"{path}.finalizers", plain_finalizers=plain_finalizers
    )
    yield from _managed_fields_errors(meta.get("managedFields", ()), f"{path}.managedFields")


def _one_owner_errors(owner: Document, path: str) -> Iterator[FieldError]:
    api_version = owner.get("apiVersion", "")
    if not api_version:
        yield FieldError.required(f"{path}.apiVersion", "must not be empty")
    elif api_version.count("/") > 1 or api_version.endswith("/"):
        yield FieldError.invalid(
            f"{path}.apiVersion", api_version, "must be <group>/<version> or <version>"
        )
    for field in ("kind", "name", "uid"):
        if not owner.get(field):
            yield FieldError.required(f"{path}.{field}", "must not be empty")
    if api_version == "v1" and owner.get("kind") == "Event":
        yield FieldError.invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner")


def _added_finalizers(new: Document, old: Document, path: str) -> Iterator[FieldError]:
    added = sorted(set(new.get("finalizers", ())) - set(old.get("finalizers", ())))
    if added:
        yield FieldError.forbidden(
            f"{path}.finalizers",
            "no new finalizers can be added if the object is being deleted, "
            f"found new finalizers {', '.join(added)}",
        )


def _managed_fields_errors(entries: Sequence[Document], path: str) -> Iterator[FieldError]:
    for index, entry in enumerate(entries):
        where = f"{path}[{index}]"
        operation: Any = entry.get("operation", "")
        if operation not in OPERATIONS:
            yield FieldError.invalid(f"{where}.operation", operation, "must be `Apply` or `Update`")
        if entry.get("fieldsType", "FieldsV1") != "FieldsV1":
            yield FieldError.invalid(
                f"{where}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"
            )
        manager = entry.get("manager", "")
        if len(manager.encode()) > MANAGER_LIMIT:
            yield FieldError.too_long(f"{where}.manager", MANAGER_LIMIT)
        if not manager.isprintable():
            yield FieldError.invalid(f"{where}.manager", manager, "has unprintable characters")
        if len(entry.get("subresource", "").encode()) > SUBRESOURCE_LIMIT:
            yield FieldError.too_long(f"{where}.subresource", SUBRESOURCE_LIMIT)
