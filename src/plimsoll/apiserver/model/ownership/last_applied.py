"""Moving from `kubectl apply` to `kubectl apply --server-side`.

The former keeps what it applied last in an annotation, and is a plain updater to the server. When
kubectl goes on by applying on the server, what the annotation says is its own: no conflict. And the
annotation is kept up to date, so that there is a way back.
"""

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.object_meta import ANNOTATIONS_LIMIT
from plimsoll.apiserver.model.ownership import merging, tracking
from plimsoll.apiserver.model.ownership.endpoint import Endpoint
from plimsoll.apiserver.model.ownership.field_set import FieldSet, canonical_json, difference, union
from plimsoll.apiserver.model.ownership.typed_paths import ShapeError

KUBECTL = "kubectl"
"""The manager that this is for; any other name opts out."""
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


def fields_applied_by_client(at: Endpoint, live: Document) -> FieldSet:
    """What the annotation mentions and what still has the value that it had there."""
    text = (live["metadata"].get("annotations") or {}).get(ANNOTATION)
    try:
        last = msgspec.json.decode(text or "null")
        if not isinstance(last, dict) or last.get("apiVersion") != at.api_version:
            return {}
        changed, removed = tracking.compare(at, last, live)
        return difference(merging.mentioned(at.whole, last), union(changed, removed))
    except (msgspec.DecodeError, ShapeError, AttributeError, TypeError):
        # Any client can write any text into an annotation.
        return {}


def refresh(new: Document, wanted: Document) -> None:
    """Brings the annotation of `new` up to date, if it has one."""
    annotations = new["metadata"].get("annotations") or {}
    if not annotations.get(ANNOTATION):
        return
    annotations = annotations | {ANNOTATION: _encoded(wanted)}
    size = sum(len(name.encode()) + len(str(text).encode()) for name, text in annotations.items())
    if size > ANNOTATIONS_LIMIT:
        del annotations[ANNOTATION]
    new["metadata"] = new["metadata"] | {"annotations": annotations}


def _encoded(wanted: Document) -> str:
    metadata = dict(wanted.get("metadata") or {})
    if metadata.get("annotations"):
        rest = {k: v for k, v in metadata["annotations"].items() if k != ANNOTATION}
        metadata["annotations"] = rest
    # Twice, to have it in order.
    ordered = msgspec.json.encode(wanted | {"metadata": metadata}, order="deterministic")
    return canonical_json(msgspec.json.decode(ordered)) + "\n"
