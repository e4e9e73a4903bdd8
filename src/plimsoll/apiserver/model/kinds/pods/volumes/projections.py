"""Files that a volume or a variable shows from other objects: keys of config maps, pod fields."""

from collections.abc import Iterator

from plimsoll.api.quantity import parse_quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.values import (
    file_below_volume,
    file_mode,
    one_of,
    qualified_name,
    required,
)

FIELDS_OF_FILES = (
    "metadata.name",
    "metadata.namespace",
    "metadata.labels",
    "metadata.annotations",
    "metadata.uid",
)
FIELDS_OF_VARIABLES = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
KNOWN_FIELDS = {
    *FIELDS_OF_FILES,
    *FIELDS_OF_VARIABLES,
    "spec.restartPolicy",
    "spec.schedulerName",
    "status.phase",
}
RENAMED_FIELDS = {"spec.host": "spec.nodeName"}
RESOURCES = tuple(
    f"{kind}.{name}"
    for kind in ("limits", "requests")
    for name in ("cpu", "memory", "ephemeral-storage")
)
HUGE_PAGES = ("requests.hugepages-", "limits.hugepages-")
CPU_DIVISORS = ("1m", "1")
BYTE_DIVISORS = ("1", *(f"1{u}" for u in "kMGTPE"), *(f"1{u}i" for u in "KMGTPE"))

SHORTEST_TOKEN_SECONDS = 600
LONGEST_TOKEN_SECONDS = 1 << 32


def key_to_path_errors(items: list[Document], path: str) -> Iterator[FieldError]:
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        yield from required(item.get("key"), f"{where}.key")
        yield from required(item.get("path"), f"{where}.path")
        yield from file_below_volume(item.get("path", ""), f"{where}.path")
        yield from file_mode(item.get("mode"), f"{where}.mode")


def downward_file_errors(files: list[Document], path: str) -> Iterator[FieldError]:
    """Complaints name the volume, not the file: the API never counted them."""
    for file in files:
        yield from required(file.get("path"), f"{path}.path")
        yield from file_below_volume(file.get("path", ""), f"{path}.path")
        if "fieldRef" in file:
            yield from field_errors(file["fieldRef"], f"{path}.fieldRef", FIELDS_OF_FILES)
            if "resourceFieldRef" in file:
                yield FieldError.invalid(
                    path, "resource", "fieldRef and resourceFieldRef can not be specified together"
                )
        elif "resourceFieldRef" in file:
            yield from resource_errors(
                file["resourceFieldRef"], f"{path}.resourceFieldRef", container_needed=True
            )
        else:
            yield FieldError.required(path, "one of fieldRef and resourceFieldRef is required")
        yield from file_mode(file.get("mode"), f"{path}.mode")


def field_errors(ref: Document, path: str, supported: tuple[str, ...]) -> Iterator[FieldError]:
    """A reference to a field of the pod, such as `metadata.labels['app']`."""
    field = ref.get("fieldPath", "")
    if not ref.get("apiVersion"):
        yield FieldError.required(f"{path}.apiVersion")
        return
    if not field:
        yield FieldError.required(f"{path}.fieldPath")
        return
    whole, key = _subscript(field)
    known = (
        whole in ("metadata.annotations", "metadata.labels")
        if key is not None
        else (whole in KNOWN_FIELDS or whole in RENAMED_FIELDS)
    )
    if ref["apiVersion"] != "v1" or not known:
        yield FieldError.invalid(f"{path}.fieldPath", field, "error converting fieldPath")
    elif key is not None:
        yield from qualified_name(key.lower() if whole == "metadata.annotations" else key, path)
    else:
        yield from one_of(RENAMED_FIELDS.get(whole, whole), f"{path}.fieldPath", supported)


def _subscript(field: str) -> tuple[str, str | None]:
    """`a['b']` → a, b; anything else has no subscript."""
    whole, opened, rest = field.partition("['")
    if opened and whole and rest.endswith("']"):
        return whole, rest.removesuffix("']")
    return field, None


def resource_errors(ref: Document, path: str, *, container_needed: bool) -> Iterator[FieldError]:
    """A reference to a resource of a container, such as `limits.cpu`."""
    resource = ref.get("resource", "")
    if container_needed and not ref.get("containerName"):
        yield FieldError.required(f"{path}.containerName")
    elif not resource:
        yield FieldError.required(f"{path}.resource")
    elif not resource.startswith(HUGE_PAGES):
        yield from one_of(resource, f"{path}.resource", RESOURCES)
    yield from _divisor_errors(resource, ref.get("divisor", "0"), path)


def _divisor_errors(resource: str, divisor: str, path: str) -> Iterator[FieldError]:
    if not parse_quantity(divisor).sign:
        return
    supported: tuple[str, ...] = ()
    if resource in ("limits.cpu", "requests.cpu"):
        supported = CPU_DIVISORS
    elif resource in RESOURCES or resource.startswith(HUGE_PAGES):
        supported = BYTE_DIVISORS
    if supported and divisor not in supported:
        yield FieldError.invalid(
            f"{path}.divisor",
            resource,
            f"only divisor's values {', '.join(supported)} are supported",
        )


def projected_errors(projected: Document, path: str) -> Iterator[FieldError]:
    yield from file_mode(projected.get("defaultMode"), f"{path}.defaultMode")
    taken: set[str] = set()
    for index, source in enumerate(projected.get("sources") or []):
        yield from _source_errors(source, path, f"{path}.sources[{index}]")
        for file in _paths(source):
            if file in taken:
                yield FieldError.invalid(path, file, "conflicting duplicate paths")
            taken.add(file)
        if len(source) > 1:
            yield FieldError.forbidden(
                f"{path}.sources[{index}]", "may not specify more than 1 volume type per source"
            )


def _paths(source: Document) -> Iterator[str]:
    """The files that a source makes; tokens are not held against others."""
    for name in ("secret", "configMap", "downwardAPI"):
        for item in (source.get(name) or {}).get("items") or []:
            if item.get("path"):
                yield item["path"]
    if "clusterTrustBundle" in source:
        yield source["clusterTrustBundle"].get("path", "")
    certificate = source.get("podCertificate") or {}
    for name in ("credentialBundlePath", "keyPath", "certificateChainPath"):
        if certificate.get(name):
            yield certificate[name]


def _source_errors(source: Document, volume: str, path: str) -> Iterator[FieldError]:
    for name in ("secret", "configMap"):
        if name in source:
            yield from required(source[name].get("name"), f"{path}.{name}.name")
            items = source[name].get("items") or []
            yield from key_to_path_errors(items, f"{path}.{name}.items")
    if "downwardAPI" in source:
        files = source["downwardAPI"].get("items") or []
        yield from downward_file_errors(files, f"{path}.downwardAPI")
    if "serviceAccountToken" in source:
        yield from _token_errors(source["serviceAccountToken"], volume, path)


def _token_errors(token: Document, volume: str, path: str) -> Iterator[FieldError]:
    seconds = token.get("expirationSeconds", 0)
    where = f"{path}.serviceAccountToken.expirationSeconds"
    if seconds < SHORTEST_TOKEN_SECONDS:
        yield FieldError.invalid(where, seconds, "may not specify a duration less than 10 minutes")
    if seconds > LONGEST_TOKEN_SECONDS:
        yield FieldError.invalid(where, seconds, "may not specify a duration over 2^32 seconds")
    if token.get("path"):
        yield from file_below_volume(token["path"], f"{volume}.path")
    else:
        yield FieldError.required(f"{volume}.path")
