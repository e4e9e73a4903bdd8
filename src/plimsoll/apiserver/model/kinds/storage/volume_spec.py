"""The spec of a volume, in a PersistentVolume or inline in a VolumeAttachment."""

from collections.abc import Iterator, Sequence
from posixpath import normpath

from plimsoll.api.names import dns_subdomain_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.quantities import basic_resource_errors, positive_errors
from plimsoll.apiserver.model.kinds.selectors import node_selector_errors
from plimsoll.apiserver.model.kinds.storage.volume_sources import source_errors

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
INLINE = "in the context of inline volumes"


def volume_spec_errors(
    spec: Document, path: str, *, name: str, any_label_value: bool = False
) -> Iterator[FieldError]:
    """Everything wrong with the spec of the volume called `name`.

    `any_label_value`: tolerate odd values in the node affinity, as the stored volume has some.
    """
    yield from _access_errors(spec, path)
    yield from _capacity_errors(spec.get("capacity") or {}, f"{path}.capacity")
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy and policy not in RECLAIM_POLICIES:
        yield FieldError.not_supported(
            f"{path}.persistentVolumeReclaimPolicy", policy, RECLAIM_POLICIES
        )
    if "nodeAffinity" in spec:
        yield from _affinity_errors(
            spec["nodeAffinity"], f"{path}.nodeAffinity", any_value=any_label_value
        )
    yield from source_errors(spec, path, name=name)
    yield from _recycle_errors(spec, path)
    storage_class = spec.get("storageClassName", "")
    if storage_class:
        yield from _class_name_errors(storage_class, f"{path}.storageClassName")
    yield from volume_mode_errors(spec.get("volumeMode"), f"{path}.volumeMode")
    yield from _attributes_class_errors(spec, path)


def inline_spec_errors(spec: Document, path: str) -> Iterator[FieldError]:
    """A volume inside an attachment: a CSI volume that is never claimed, bound or reclaimed."""
    for field in ("claimRef", "capacity"):
        if spec.get(field):
            yield FieldError.forbidden(f"{path}.{field}", f"may not be specified {INLINE}")
    if "csi" not in spec:
        yield FieldError.required(f"{path}.csi", f"has to be specified {INLINE}")
    yield from _access_errors(spec, path)
    if spec.get("persistentVolumeReclaimPolicy", "Retain") not in ("", "Retain"):
        yield FieldError.forbidden(
            f"{path}.persistentVolumeReclaimPolicy", f"may only be Retain {INLINE}"
        )
    if "nodeAffinity" in spec:
        yield FieldError.forbidden(f"{path}.nodeAffinity", f"may not be specified {INLINE}")
    # A local volume needs the affinity that is forbidden here: it cannot be inline.
    bare = {field: value for field, value in spec.items() if field != "nodeAffinity"}
    yield from source_errors(bare, path, name="")
    yield from _recycle_errors(spec, path)
    if spec.get("storageClassName"):
        yield FieldError.forbidden(f"{path}.storageClassName", f"may not be specified {INLINE}")
    if spec.get("volumeMode", "Filesystem") != "Filesystem":
        yield FieldError.forbidden(
            f"{path}.volumeMode", f"may not specify volumeMode other than Filesystem {INLINE}"
        )


def _access_errors(spec: Document, path: str) -> Iterator[FieldError]:
    modes = spec.get("accessModes") or []
    if not modes:
        yield FieldError.required(f"{path}.accessModes")
    yield from access_mode_errors(modes, f"{path}.accessModes")


def _capacity_errors(capacity: Document, path: str) -> Iterator[FieldError]:
    if not capacity:
        yield FieldError.required(path)
    if set(capacity) != {"storage"}:
        yield FieldError.not_supported(path, capacity or None, ("storage",))
    for resource, quantity in capacity.items():
        yield from basic_resource_errors(quantity, f"{path}[{resource}]")
        yield from positive_errors(quantity, f"{path}[{resource}]")


def _affinity_errors(affinity: Document, path: str, *, any_value: bool) -> Iterator[FieldError]:
    if "required" not in affinity:
        yield FieldError.required(f"{path}.required", "must specify required node constraints")
        return
    yield from node_selector_errors(affinity["required"], f"{path}.required", any_value=any_value)


def _recycle_errors(spec: Document, path: str) -> Iterator[FieldError]:
    """Recycling deletes all files of a volume."""
    policy = spec.get("persistentVolumeReclaimPolicy")
    host_path = (spec.get("hostPath") or {}).get("path", "")
    if policy == "Recycle" and host_path and normpath(host_path) in ("/", "//"):
        yield FieldError.forbidden(
            f"{path}.persistentVolumeReclaimPolicy",
            "may not be 'recycle' for a hostPath mount of '/'",
        )


def _class_name_errors(name: str, path: str) -> Iterator[FieldError]:
    for error in dns_subdomain_errors(name):
        yield FieldError.invalid(path, name, error)


def _attributes_class_errors(spec: Document, path: str) -> Iterator[FieldError]:
    name = spec.get("volumeAttributesClassName")
    if name is None:
        return
    where = f"{path}.volumeAttributesClassName"
    if not name:
        yield FieldError.required(where, "an empty string is disallowed")
    else:
        yield from _class_name_errors(name, where)
    if "csi" not in spec:
        yield FieldError.required(
            f"{path}.csi", "has to be specified when using volumeAttributesClassName"
        )


def access_mode_errors(modes: Sequence[str], path: str) -> Iterator[FieldError]:
    """All but that there is one; that complaint has a sentence of its own for each kind."""
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield FieldError.not_supported(path, mode, ACCESS_MODES)
    known = {mode for mode in modes if mode in ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        yield FieldError.forbidden(path, "may not use ReadWriteOncePod with other access modes")


def volume_mode_errors(mode: str | None, path: str) -> Iterator[FieldError]:
    if mode is not None and mode not in VOLUME_MODES:
        yield FieldError.not_supported(path, mode, VOLUME_MODES)
