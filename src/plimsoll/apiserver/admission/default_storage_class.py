"""DefaultStorageClass: a new claim without a class gets the default class, if there is one."""

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation, Reader
from plimsoll.apiserver.model.kinds.storage.persistent_volume_claim import CLASS_ANNOTATION

DEFAULT_MARKS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def admit(attributes: Attributes) -> None:
    if attributes.operation is not Operation.CREATE or attributes.subresource:
        return
    if (attributes.resource.group, attributes.resource.plural) != ("", "persistentvolumeclaims"):
        return
    claim = attributes.document
    spec = claim.setdefault("spec", {})
    annotations = claim["metadata"].get("annotations") or {}
    if "storageClassName" in spec or CLASS_ANNOTATION in annotations:
        return
    chosen = find_default_class(attributes.reader)
    if chosen is not None:
        spec["storageClassName"] = chosen["metadata"]["name"]


def find_default_class(reader: Reader) -> Document | None:
    """The newest of the classes marked as default; of equally new ones the first by name."""
    marked = [c for c in reader.list("storage.k8s.io", "storageclasses") if _is_default(c)]
    marked.sort(key=lambda c: str(c["metadata"]["name"]))
    # Times of one format compare as texts; max() keeps the first of equals.
    return max(marked, key=lambda c: c["metadata"].get("creationTimestamp") or "", default=None)


def _is_default(storage_class: Document) -> bool:
    annotations = storage_class["metadata"].get("annotations") or {}
    return any(annotations.get(mark) == "true" for mark in DEFAULT_MARKS)
