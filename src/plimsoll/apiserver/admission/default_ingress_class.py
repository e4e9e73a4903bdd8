"""DefaultIngressClass: a new ingress without a class gets the default class, if there is one."""

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation

GROUP = "networking.k8s.io"
DEFAULT_MARK = "ingressclass.kubernetes.io/is-default-class"
OLD_CLASS = "kubernetes.io/ingress.class"


def admit(attributes: Attributes) -> None:
    if attributes.operation is not Operation.CREATE or attributes.subresource:
        return
    ingress = attributes.document
    spec = ingress.setdefault("spec", {})
    if "ingressClassName" in spec or OLD_CLASS in (ingress["metadata"].get("annotations") or {}):
        return
    marked = [c for c in attributes.reader.list(GROUP, "ingressclasses") if _is_default(c)]
    # Times of one format compare as texts; max() keeps the first of equals.
    marked.sort(key=lambda c: str(c["metadata"]["name"]))
    chosen = max(marked, key=lambda c: c["metadata"].get("creationTimestamp") or "", default=None)
    if chosen is not None:
        spec["ingressClassName"] = chosen["metadata"]["name"]


def _is_default(ingress_class: Document) -> bool:
    annotations = ingress_class["metadata"].get("annotations") or {}
    return bool(annotations.get(DEFAULT_MARK) == "true")
