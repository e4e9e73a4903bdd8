"""What the fields of one volume source must hold.

A rule takes the source and its path. Most sources only insist on a few fields; the others have a
function here. Which source has which rule is the table in `volume_sources`.
"""

import re
from collections.abc import Callable, Iterator

from plimsoll.api.names import dns_label_errors, dns_subdomain_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.storage.driver_names import driver_name_errors

SourceRule = Callable[[Document, str], Iterator[FieldError]]

LARGEST_LUN = 255
TENANT_LIMIT = 64
HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
CACHING_MODES = ("None", "ReadOnly", "ReadWrite")
DISK_KINDS = ("Dedicated", "Managed", "Shared")
MANAGED_DISK = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}"
    "/providers/microsoft.compute/disks/{disk-id}"
)
BLOB_DISK = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
LUN_RANGE = "must be between 0 and 255, inclusive"
PARTITION_RANGE = "must be between 1 and 255, inclusive"
NOT_HOST_PORT = "must be a host:port pair or multiple pairs separated by commas"
HOST_PORT = re.compile(r"\[[^\[\]]*\]:[^\[\]:]*|[^\[\]:]*:[^\[\]:]*")
# How each family of iSCSI names continues after its prefix.
INITIATORS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}


def required(*fields: str) -> SourceRule:
    """These fields may not be empty; nothing else is checked."""

    def rule(source: Document, path: str) -> Iterator[FieldError]:
        for field in fields:
            if not source.get(field):
                yield FieldError.required(f"{path}.{field}")

    return rule


def both(first: SourceRule, second: SourceRule) -> SourceRule:
    def rule(source: Document, path: str) -> Iterator[FieldError]:
        yield from first(source, path)
        yield from second(source, path)

    return rule


def host_path(source: Document, path: str) -> Iterator[FieldError]:
    if not source.get("path"):
        yield FieldError.required(f"{path}.path")
        return
    yield from _no_backsteps(source["path"], f"{path}.path")
    kind = source.get("type")
    if kind is not None and kind not in HOST_PATH_TYPES:
        yield FieldError.not_supported(f"{path}.type", kind, HOST_PATH_TYPES)


def local(source: Document, path: str) -> Iterator[FieldError]:
    if not source.get("path"):
        yield FieldError.required(f"{path}.path")
        return
    yield from _no_backsteps(source["path"], f"{path}.path")


def _no_backsteps(value: str, path: str) -> Iterator[FieldError]:
    if ".." in value.split("/"):
        yield FieldError.invalid(path, value, "must not contain '..'")


def partition(source: Document, path: str) -> Iterator[FieldError]:
    number = source.get("partition", 0)
    if not 0 <= number <= LARGEST_LUN:
        yield FieldError.invalid(f"{path}.partition", number, PARTITION_RANGE)


def nfs_path(source: Document, path: str) -> Iterator[FieldError]:
    if not source.get("path", "").startswith("/"):
        yield FieldError.invalid(f"{path}.path", source.get("path", ""), "must be an absolute path")


def quobyte(source: Document, path: str) -> Iterator[FieldError]:
    registry = source.get("registry", "")
    if not registry:
        yield FieldError.required(f"{path}.registry", NOT_HOST_PORT)
    elif len(source.get("tenant", "")) > TENANT_LIMIT:
        yield FieldError.required(
            f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters"
        )
    else:
        for pair in registry.split(","):
            if not HOST_PORT.fullmatch(pair):
                yield FieldError.invalid(f"{path}.registry", registry, NOT_HOST_PORT)
    yield from required("volume")(source, path)


def gluster_namespace(source: Document, path: str) -> Iterator[FieldError]:
    namespace = source.get("endpointsNamespace")
    if namespace is None:
        return
    if not namespace:
        yield FieldError.invalid(
            f"{path}.endpointsNamespace",
            namespace,
            "if the endpointnamespace is set, it must be a valid namespace name",
        )
        return
    for error in dns_label_errors(namespace):
        yield FieldError.invalid(f"{path}.endpointsNamespace", namespace, error)


def flocker(source: Document, path: str) -> Iterator[FieldError]:
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID", "")
    if not name and not uuid:
        yield FieldError.required(path, "one of datasetName and datasetUUID is required")
    if name and uuid:
        yield FieldError.invalid(
            path, "resource", "datasetName and datasetUUID can not be specified simultaneously"
        )
    if "/" in name:
        yield FieldError.invalid(f"{path}.datasetName", name, "must not contain '/'")


def iscsi(source: Document, path: str) -> Iterator[FieldError]:
    yield from required("targetPortal", "iqn")(source, path)
    if source.get("iqn"):
        yield from _initiator_errors(source["iqn"], f"{path}.iqn")
    yield from _lun_errors(source.get("lun", 0), f"{path}.lun")
    secret = source.get("secretRef")
    if secret is None:
        if source.get("chapAuthDiscovery") or source.get("chapAuthSession"):
            yield FieldError.required(f"{path}.secretRef")
    elif not secret.get("name"):
        yield FieldError.required(f"{path}.secretRef.name")
    if source.get("initiatorName") is not None:
        yield from _initiator_errors(source["initiatorName"], f"{path}.initiatorname")


def _initiator_errors(name: str, path: str) -> Iterator[FieldError]:
    pattern = INITIATORS.get(name[:3])
    if pattern is None or not pattern.search(name):
        yield FieldError.invalid(path, name, "must be valid format")


def _lun_errors(lun: int, path: str) -> Iterator[FieldError]:
    if not 0 <= lun <= LARGEST_LUN:
        yield FieldError.invalid(path, lun, LUN_RANGE)


def fibre_channel(source: Document, path: str) -> Iterator[FieldError]:
    names, ids = source.get("targetWWNs") or [], source.get("wwids") or []
    if not names and not ids:
        yield FieldError.required(
            f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both"
        )
    if names and ids:
        yield FieldError.invalid(
            f"{path}.targetWWNs",
            names,
            "targetWWNs and wwids can not be specified simultaneously",
        )
    if names and source.get("lun") is None:
        yield FieldError.required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif names:
        yield from _lun_errors(source["lun"], f"{path}.lun")


def flex_options(source: Document, path: str) -> Iterator[FieldError]:
    """Option names in the namespaces of Kubernetes are for the kubelet alone."""
    for option in source.get("options") or {}:
        owner = "." + option.partition("/")[0].lower()
        if owner.endswith((".kubernetes.io", ".k8s.io")):
            yield FieldError.invalid(
                f"{path}.options[{option}]",
                option,
                "kubernetes.io and k8s.io namespaces are reserved",
            )


def azure_file_namespace(source: Document, path: str) -> Iterator[FieldError]:
    if source.get("secretNamespace") == "":
        yield FieldError.required(f"{path}.secretNamespace")


def azure_disk(source: Document, path: str) -> Iterator[FieldError]:
    yield from required("diskName", "diskURI")(source, path)
    caching, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI", "")
    if caching is not None and caching not in CACHING_MODES:
        yield FieldError.not_supported(f"{path}.cachingMode", caching, CACHING_MODES)
    if kind is not None and kind not in DISK_KINDS:
        yield FieldError.not_supported(f"{path}.kind", kind, DISK_KINDS)
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        yield FieldError.not_supported(f"{path}.diskURI", uri, (MANAGED_DISK,))
    if kind not in (None, "Managed") and not uri.startswith("https://"):
        yield FieldError.not_supported(f"{path}.diskURI", uri, (BLOB_DISK,))


def storage_os(source: Document, path: str) -> Iterator[FieldError]:
    yield from required("volumeName")(source, path)
    for field in ("volumeName", "volumeNamespace"):
        if source.get(field):
            for error in dns_label_errors(source[field]):
                yield FieldError.invalid(f"{path}.{field}", source[field], error)
    yield from secret_named(source, path)


def secret_named(source: Document, path: str) -> Iterator[FieldError]:
    secret = source.get("secretRef")
    if secret is not None:
        yield from required("name", "namespace")(secret, f"{path}.secretRef")


def csi(source: Document, path: str) -> Iterator[FieldError]:
    yield from driver_name_errors(source.get("driver", ""), f"{path}.driver")
    yield from required("volumeHandle")(source, path)
    for use in ("controllerPublish", "controllerExpand", "nodePublish", "nodeExpand"):
        secret = source.get(f"{use}SecretRef")
        if secret is not None:
            yield from _secret_reference_errors(secret, f"{path}.{use}SecretRef")


def _secret_reference_errors(secret: Document, path: str) -> Iterator[FieldError]:
    yield from required("name", "namespace")(secret, path)
    if secret.get("name"):
        for error in dns_subdomain_errors(secret["name"]):
            yield FieldError.invalid(f"{path}.name", secret["name"], error)
    if secret.get("namespace"):
        for error in dns_label_errors(secret["namespace"]):
            yield FieldError.invalid(f"{path}.namespace", secret["namespace"], error)
