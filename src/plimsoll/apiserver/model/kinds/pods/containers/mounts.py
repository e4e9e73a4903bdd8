"""Where a container finds the pod's volumes: as directories (mounts) or as devices."""

from collections.abc import Iterator, Mapping

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.values import descending_path, one_of

PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
RECURSIVE_READ_ONLY = ("Disabled", "IfPossible", "Enabled")


def mount_errors(
    container: Document, volumes: Mapping[str, Document], path: str
) -> Iterator[FieldError]:
    devices = {d.get("name", ""): d.get("devicePath", "") for d in _devices(container)}
    taken: set[str] = set()
    for index, mount in enumerate(_mounts(container)):
        where = f"{path}.volumeMounts[{index}]"
        name, at = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield FieldError.required(f"{where}.name")
        if name not in volumes:
            yield FieldError.not_found(f"{where}.name", name)
        if not at:
            yield FieldError.required(f"{where}.mountPath")
        if at in taken:
            yield FieldError.invalid(f"{where}.mountPath", at, "must be unique")
        taken.add(at)
        if name in devices:
            yield FieldError.invalid(
                f"{where}.name", name, "must not already exist in volumeDevices"
            )
        if at in devices.values():
            yield FieldError.invalid(
                f"{where}.mountPath", at, "must not already exist as a path in volumeDevices"
            )
        yield from _sub_path_errors(mount, f"{path}.volumeMounts", where)
        yield from _propagation_errors(mount, container, f"{path}.volumeMounts")


def _sub_path_errors(mount: Document, path: str, where: str) -> Iterator[FieldError]:
    sub_path, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    yield from descending_path(sub_path, f"{path}.subPath")
    if expression and sub_path:
        yield FieldError.invalid(
            f"{where}.subPathExpr", expression, "subPathExpr and subPath are mutually exclusive"
        )
    yield from descending_path(expression, f"{path}.subPathExpr")


def _propagation_errors(mount: Document, container: Document, path: str) -> Iterator[FieldError]:
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        yield from one_of(propagation, f"{path}.mountPropagation", PROPAGATIONS)
    privileged = (container.get("securityContext") or {}).get("privileged")
    if propagation == "Bidirectional" and not privileged:
        yield FieldError.forbidden(
            f"{path}.mountPropagation",
            "Bidirectional mount propagation is available only to privileged containers",
        )
    recursive = mount.get("recursiveReadOnly")
    where = f"{path}.recursiveReadOnly"
    if recursive is None or recursive == "Disabled":
        return
    if recursive not in RECURSIVE_READ_ONLY:
        yield FieldError.not_supported(where, recursive, RECURSIVE_READ_ONLY)
        return
    if not mount.get("readOnly"):
        yield FieldError.forbidden(where, "may only be specified when readOnly is true")
    if propagation not in (None, "None"):
        yield FieldError.forbidden(where, "may only be specified when mountPropagation is None")


def device_errors(
    container: Document, volumes: Mapping[str, Document], path: str
) -> Iterator[FieldError]:
    mounts = {m.get("name", ""): m.get("mountPath", "") for m in _mounts(container)}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(_devices(container)):
        where = f"{path}.volumeDevices[{index}]"
        name, at = device.get("name", ""), device.get("devicePath", "")
        yield from _device_name_errors(name, volumes, f"{where}.name")
        if name in names:
            yield FieldError.invalid(f"{where}.name", name, "must be unique")
        if not at:
            yield FieldError.required(f"{where}.devicePath")
        if at in paths:
            yield FieldError.invalid(f"{where}.devicePath", at, "must be unique")
        if ".." in at.split("/"):
            yield FieldError.invalid(f"{where}.devicePath", at, "can not contain backsteps ('..')")
        else:
            paths.add(at)
        if name in mounts:
            yield FieldError.invalid(
                f"{where}.name", name, "must not already exist in volumeMounts"
            )
        if at in mounts.values():
            yield FieldError.invalid(
                f"{where}.devicePath", at, "must not already exist as a path in volumeMounts"
            )
        names |= {name} - {""}


def _device_name_errors(
    name: str, volumes: Mapping[str, Document], path: str
) -> Iterator[FieldError]:
    if not name:
        yield FieldError.required(path)
    volume = volumes.get(name)
    if volume is None:
        yield FieldError.not_found(path, name)
    elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
        yield FieldError.invalid(
            path,
            name,
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
        )


def _mounts(container: Document) -> list[Document]:
    return container.get("volumeMounts") or []


def _devices(container: Document) -> list[Document]:
    return container.get("volumeDevices") or []
