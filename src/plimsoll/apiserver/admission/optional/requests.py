"""AlwaysAdmit, AlwaysDeny, DenyServiceExternalIPs, NamespaceExists."""

from plimsoll.api.registry import resources_by_path
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.model.status import forbidden, not_found

EXTERNAL = "Use of external IPs is denied by admission control."


def admit_all(_attributes: Attributes) -> None:
    """Nothing is refused."""


def deny_all(attributes: Attributes) -> None:
    raise forbidden(
        attributes.resource, attributes.name, "admission control is denying all modifications"
    )


def check_external_addresses(attributes: Attributes) -> None:
    """A service may lose external addresses, but get no others."""
    if attributes.operation is Operation.DELETE or attributes.subresource:
        return
    old = (attributes.old or {}).get("spec") or {}
    spec = attributes.document.get("spec") or {}
    if set(spec.get("externalIPs") or ()) - set(old.get("externalIPs") or ()):
        raise forbidden(attributes.resource, attributes.name, EXTERNAL)


def check_namespace(attributes: Attributes) -> None:
    if attributes.operation is Operation.DELETE or not attributes.namespace:
        return
    if not attributes.reader.has("", "namespaces", "", attributes.namespace):
        raise not_found(resources_by_path()["", "v1", "namespaces"], attributes.namespace)
