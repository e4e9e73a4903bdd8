"""PersistentVolumeClaimResize: a claim grows only if it is bound and its class allows it."""

from plimsoll.api.quantity import Quantity, parse_quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation, Reader
from plimsoll.apiserver.model.kinds.storage.claim_spec import requested_storage
from plimsoll.apiserver.model.kinds.storage.persistent_volume_claim import claim_class
from plimsoll.apiserver.model.status import forbidden

NOT_BOUND = "Only bound persistent volume claims can be expanded"
NOT_EXPANDABLE = (
    "only dynamically provisioned pvc can be resized and "
    "the storageclass that provisions the pvc must support resize"
)


def check(attributes: Attributes) -> None:
    if attributes.operation is not Operation.UPDATE or attributes.subresource:
        return
    if (attributes.resource.group, attributes.resource.plural) != ("", "persistentvolumeclaims"):
        return
    claim, before = attributes.document, attributes.old
    if before is None or not _size(before) < _size(claim):
        return
    if (before.get("status") or {}).get("phase") != "Bound":
        raise forbidden(attributes.resource, attributes.name, NOT_BOUND)
    if not _may_grow(claim, before, attributes.reader):
        raise forbidden(attributes.resource, attributes.name, NOT_EXPANDABLE)


def _size(claim: Document) -> Quantity:
    return parse_quantity(requested_storage(claim.get("spec") or {}) or "0")


def _may_grow(claim: Document, before: Document, reader: Reader) -> bool:
    named = claim_class(claim)
    if not named or named != claim_class(before):
        return False
    storage_class = reader.get("storage.k8s.io", "storageclasses", "", named)
    return storage_class is not None and bool(storage_class.get("allowVolumeExpansion"))
