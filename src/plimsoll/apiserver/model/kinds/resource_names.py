"""Names and amounts of what can be counted: cpu, memory, storage, pods, `example.com/device`.

Shared by nodes, containers, quotas and limits, which accept different sets of names.
"""

from collections.abc import Iterator

from plimsoll.api.names import qualified_name_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.quantities import quantity_errors, whole_errors

OBJECT_COUNTS = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
QUOTA_RESOURCES = (
    OBJECT_COUNTS
    | CONTAINER_RESOURCES
    | {f"{side}.{name}" for side in ("requests", "limits") for name in CONTAINER_RESOURCES}
    | {"requests.storage"}
)
STANDARD_RESOURCES = QUOTA_RESOURCES | {"storage"}
HUGE_PAGES = "hugepages-"
REQUESTS = "requests."


def is_huge_pages(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def is_quota_resource(name: str) -> bool:
    return name in QUOTA_RESOURCES or name.startswith((HUGE_PAGES, REQUESTS + HUGE_PAGES))


def is_native(name: str) -> bool:
    """Without a domain, or in the one of Kubernetes."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """A device or the like that the cluster knows nothing else about."""
    if is_native(name) or name.startswith(REQUESTS):
        return False
    return not qualified_name_errors(REQUESTS + name)


def is_overcommit_allowed(name: str) -> bool:
    return is_native(name) and not is_huge_pages(name)


def amount_errors(resource: str, amount: str, path: str) -> Iterator[FieldError]:
    yield from quantity_errors(amount, path)
    if resource in OBJECT_COUNTS or is_extended(resource):
        yield from whole_errors(amount, path)


def resource_name_errors(name: str, path: str) -> Iterator[FieldError]:
    errors = qualified_name_errors(name)
    for error in errors:
        yield FieldError.invalid(path, name, error)
    known = name in STANDARD_RESOURCES or is_quota_resource(name)
    if not errors and "/" not in name and not known:
        yield FieldError.invalid(path, name, "must be a standard resource type or fully qualified")


def quota_name_errors(name: str, path: str) -> Iterator[FieldError]:
    yield from resource_name_errors(name, path)
    if "/" not in name and not is_quota_resource(name):
        yield FieldError.invalid(path, name, "must be a standard resource for quota")


def container_name_errors(name: str, path: str) -> Iterator[FieldError]:
    yield from resource_name_errors(name, path)
    if "/" not in name:
        if name not in CONTAINER_RESOURCES and not is_huge_pages(name):
            yield FieldError.invalid(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield FieldError.invalid(path, name, "doesn't follow extended resource name standard")


def quota_amounts_errors(amounts: Document, path: str) -> Iterator[FieldError]:
    for name, amount in amounts.items():
        yield from quota_name_errors(name, f"{path}[{name}]")
        yield from amount_errors(name, amount, f"{path}[{name}]")
