"""Environment variables of a container."""

from collections.abc import Iterator

from plimsoll.api.names import name_is_dns_subdomain
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.values import (
    config_key,
    dns_label,
    dns_subdomain,
    no_backsteps,
)
from plimsoll.apiserver.model.kinds.pods.volumes.projections import (
    FIELDS_OF_VARIABLES,
    field_errors,
    resource_errors,
)

NOT_A_VARIABLE = (
    "a valid environment variable name must consist only of printable ASCII characters "
    "other than '='"
)


def variable_errors(variables: list[Document], path: str) -> Iterator[FieldError]:
    for index, variable in enumerate(variables):
        where = f"{path}[{index}]"
        name = variable.get("name", "")
        if name:
            yield from _name_errors(name, f"{where}.name")
        else:
            yield FieldError.required(f"{where}.name")
        if "valueFrom" in variable:
            yield from _value_from_errors(variable, f"{where}.valueFrom")


def _name_errors(name: str, path: str) -> Iterator[FieldError]:
    if not (name.isascii() and name.isprintable()) or "=" in name:
        yield FieldError.invalid(path, name, NOT_A_VARIABLE)


def _value_from_errors(variable: Document, path: str) -> Iterator[FieldError]:
    source = variable["valueFrom"]
    if "fieldRef" in source:
        yield from field_errors(source["fieldRef"], f"{path}.fieldRef", FIELDS_OF_VARIABLES)
    if "resourceFieldRef" in source:
        where = f"{path}.resourceFieldRef"
        yield from resource_errors(source["resourceFieldRef"], where, container_needed=False)
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in source:
            yield from _key_errors(source[name], f"{path}.{name}")
    if "fileKeyRef" in source:
        yield from _file_key_errors(source["fileKeyRef"], f"{path}.fileKeyRef")
    if not source:
        yield FieldError.invalid(path, "", "must specify where the value comes from")
    elif variable.get("value"):
        yield FieldError.invalid(path, "", "may not be specified when `value` is not empty")
    elif len(source) > 1:
        yield FieldError.invalid(path, "", "may not have more than one field specified at a time")


def _key_errors(ref: Document, path: str) -> Iterator[FieldError]:
    yield from dns_subdomain(ref.get("name", ""), f"{path}.name")
    if ref.get("key"):
        yield from config_key(ref["key"], f"{path}.key")
    else:
        yield FieldError.required(f"{path}.key")


def _file_key_errors(ref: Document, path: str) -> Iterator[FieldError]:
    checks = {"key": _name_errors, "volumeName": dns_label, "path": no_backsteps}
    for name, check in checks.items():
        if ref.get(name):
            yield from check(ref[name], f"{path}.{name}")
        else:
            yield FieldError.required(f"{path}.{name}")


def variable_source_errors(sources: list[Document], path: str) -> Iterator[FieldError]:
    """`envFrom`: all keys of an object become variables."""
    for index, source in enumerate(sources):
        where = f"{path}[{index}]"
        if source.get("prefix"):
            yield from _name_errors(source["prefix"], f"{where}.prefix")
        given = [name for name in ("configMapRef", "secretRef") if name in source]
        for name in given:
            yield from _object_name_errors(source[name].get("name", ""), f"{where}.{name}.name")
        if not given:
            yield FieldError.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield FieldError.invalid(path, "", "may not have more than one field specified")


def _object_name_errors(name: str, path: str) -> Iterator[FieldError]:
    if not name:
        yield FieldError.required(path)
        return
    for error in name_is_dns_subdomain(name, True):
        yield FieldError.invalid(path, name, error)


def file_key_volume_errors(
    containers: Iterator[tuple[Document, str]], volumes: list[Document]
) -> Iterator[FieldError]:
    """Variables read from a file need a volume that the pod's own containers fill."""
    by_name = {volume.get("name", ""): volume for volume in volumes}
    for container, path in containers:
        for index, variable in enumerate(container.get("env") or []):
            ref = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if ref is None:
                continue
            name = ref.get("volumeName", "")
            where = f"{path}.env[{index}].valueFrom.fileKeyRef.volumeName"
            if name not in by_name:
                yield FieldError.not_found(where, name)
            elif "emptyDir" not in by_name[name]:
                yield FieldError.invalid(where, name, "referenced volume must be of type emptyDir")
