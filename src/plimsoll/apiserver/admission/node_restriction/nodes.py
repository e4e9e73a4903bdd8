"""Nodes: a kubelet looks after its own, and draws no pods to it by taints or labels."""

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation

RESTRICTED = "node-restriction.kubernetes.io"
OWN_LABELS = frozenset(
    {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    }
)
OWN_PREFIXES = ("kubelet.kubernetes.io", "node.kubernetes.io")


def against(node: str, attributes: Attributes) -> str | None:
    if attributes.name != node:
        return f'node "{node}" is not allowed to modify node "{attributes.name}"'
    match attributes.operation:
        case Operation.CREATE:
            return _against_creation(node, attributes.document)
        case Operation.UPDATE:
            return _against_update(node, attributes.document, attributes.old or {})
        case _:
            return None


def _against_creation(node: str, document: Document) -> str | None:
    if (document.get("spec") or {}).get("configSource") is not None:
        return f'node "{node}" is not allowed to create pods with a non-nil configSource'
    named = forbidden_labels(_labels(document), {})
    listed = ", ".join(named)
    return f'node "{node}" is not allowed to set the following labels: {listed}' if named else None


def _against_update(node: str, document: Document, old: Document) -> str | None:
    spec, before = document.get("spec") or {}, old.get("spec") or {}
    source = spec.get("configSource")
    if source is not None and source != before.get("configSource"):
        return f'node "{node}" is not allowed to update configSource to a new non-nil configSource'
    if (spec.get("taints") or []) != (before.get("taints") or []):
        return f'node "{node}" is not allowed to modify taints'
    owners = (each["metadata"].get("ownerReferences") or [] for each in (document, old))
    if next(owners) != next(owners):
        return f'node "{node}" is not allowed to modify ownerReferences'
    named = forbidden_labels(_labels(document), _labels(old))
    return f"is not allowed to modify labels: {', '.join(named)}" if named else None


def _labels(document: Document) -> dict[str, str]:
    return document["metadata"].get("labels") or {}


def forbidden_labels(new: dict[str, str], old: dict[str, str]) -> list[str]:
    """Those that differ and are not a kubelet's to set: Kubernetes' own, but for some."""
    changed = (key for key in new.keys() | old.keys() if new.get(key) != old.get(key))
    return sorted(key for key in changed if _is_forbidden(key))


def _is_forbidden(key: str) -> bool:
    prefix = key.partition("/")[0] if "/" in key else ""
    if _is_below(prefix, RESTRICTED):
        return True
    is_kubernetes = _is_below(prefix, "kubernetes.io") or _is_below(prefix, "k8s.io")
    is_own = key in OWN_LABELS or any(_is_below(prefix, each) for each in OWN_PREFIXES)
    return is_kubernetes and not is_own


def _is_below(prefix: str, domain: str) -> bool:
    return prefix == domain or prefix.endswith(f".{domain}")
