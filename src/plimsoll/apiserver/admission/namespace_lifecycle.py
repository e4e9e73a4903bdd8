"""NamespaceLifecycle: nothing is created in a namespace that is missing or being deleted.

The namespaces that every cluster has cannot be deleted.
"""

from plimsoll.api.registry import Resource, resources_by_path
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.model.status import forbidden, not_found

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})


def check(attributes: Attributes) -> None:
    if _is_namespace(attributes.resource):
        _check_namespace(attributes)
    elif attributes.namespace and not _asks_about_access(attributes.resource):
        _check_content(attributes)


def _is_namespace(resource: Resource) -> bool:
    return not resource.group and resource.plural == "namespaces"


def _asks_about_access(resource: Resource) -> bool:
    """Questions are stored nowhere, so they need no namespace to be there."""
    return resource.group == "authorization.k8s.io"


def _is_terminating(attributes: Attributes, name: str) -> bool:
    namespace = attributes.reader.get("", "namespaces", "", name)
    return namespace is not None and "deletionTimestamp" in namespace["metadata"]


def _check_namespace(attributes: Attributes) -> None:
    if attributes.operation is Operation.DELETE and attributes.name in IMMORTAL:
        raise forbidden(attributes.resource, attributes.name, "this namespace may not be deleted")


def _check_content(attributes: Attributes) -> None:
    if attributes.operation is Operation.DELETE:
        return
    name = attributes.namespace
    if not attributes.reader.has("", "namespaces", "", name):
        raise not_found(resources_by_path()["", "v1", "namespaces"], name)
    if attributes.operation is Operation.CREATE and _is_terminating(attributes, name):
        raise forbidden(
            attributes.resource,
            attributes.name,
            f"unable to create new content in namespace {name} because it is being terminated",
            [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {name} is being terminated",
                    "field": "metadata.namespace",
                }
            ],
        )
