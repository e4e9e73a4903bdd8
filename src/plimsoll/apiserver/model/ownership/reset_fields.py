"""Fields that a write through one endpoint cannot change, whatever it says about them.

The server puts the old values back, so such a write makes no manager an owner of them: a write
to the object itself leaves the status alone, a write to the status the spec.
"""

from plimsoll.api.registry import Resource
from plimsoll.apiserver.model.ownership.field_set import FieldSet

STATUS: FieldSet = {"f:status": {}}
SPEC: FieldSet = {"f:spec": {}}
SPEC_AND_METADATA: FieldSet = {"f:spec": {}, "f:metadata": {}}

STATUS_WITHOUT_METADATA = frozenset(
    {
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "APIService"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        ("networking.k8s.io", "ServiceCIDR"),
        ("resource.k8s.io", "ResourceClaim"),
        ("storage.k8s.io", "VolumeAttachment"),
    }
)
"""Kinds whose status cannot be written together with metadata."""

EXCEPTIONS: dict[tuple[str, str, str], FieldSet] = {
    ("", "Namespace", "finalize"): STATUS,
    ("", "Pod", "status"): SPEC
    | {"f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}},
    ("apps", "Deployment", "status"): SPEC | {"f:metadata": {"f:labels": {}}},
    ("certificates.k8s.io", "CertificateSigningRequest", ""): SPEC | STATUS,
    ("certificates.k8s.io", "CertificateSigningRequest", "status"): SPEC
    | {"f:status": {"f:conditions": {}}},
    ("certificates.k8s.io", "CertificateSigningRequest", "approval"): SPEC
    | {"f:status": {"f:certificate": {}}},
}
"""By (group, kind, subresource)."""

METADATA = (
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "deletionTimestamp",
    "generation",
)
"""What an endpoint puts back that resets metadata as a whole."""


def reset_metadata(fields: FieldSet) -> tuple[str, ...]:
    """The names of the fields of metadata that are among the fields that an endpoint resets."""
    below = fields.get("f:metadata")
    if below is None:
        return ()
    return tuple(element.removeprefix("f:") for element in below) or METADATA


def reset_fields(resource: Resource, subresource: str) -> FieldSet:
    """The fields that the endpoint resets, with everything below them."""
    exception = EXCEPTIONS.get((resource.group, resource.kind, subresource))
    if exception is not None:
        return exception
    if resource.subresource("status") is None:
        return {}
    match subresource:
        case "":
            return STATUS
        case "status":
            apart = (resource.group, resource.kind) in STATUS_WITHOUT_METADATA
            return SPEC_AND_METADATA if apart else SPEC
        case _:
            return {}
