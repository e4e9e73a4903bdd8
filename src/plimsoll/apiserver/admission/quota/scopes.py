"""Which objects a ResourceQuota looks at: all, or those in every one of its scopes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.pods.totals import quality_of_service

BEST_EFFORT = "BestEffort"


@dataclass(frozen=True, slots=True)
class Scope:
    name: str
    operator: str
    values: tuple[str, ...] = ()

    def selects(self, found: set[str]) -> bool:
        """Whether names found on an object (of classes, say) are those that are meant."""
        match self.operator:
            case "Exists":
                return bool(found)
            case "DoesNotExist":
                return not found
            case "In":
                return not found.isdisjoint(self.values)
            case "NotIn":
                return not found or any(name not in self.values for name in found)
            case _:
                return False


def in_scope(quota: Document, group: str, plural: str, document: Document) -> bool:
    return in_scopes(scopes_of(quota), group, plural, document)


def in_scopes(scopes: tuple[Scope, ...], group: str, plural: str, document: Document) -> bool:
    if group or plural not in SCOPES:
        return not scopes
    matches = SCOPES[plural]
    return all(matches(scope, document) for scope in scopes)


def scopes_of(quota: Document) -> tuple[Scope, ...]:
    """Each of them once."""
    return tuple(dict.fromkeys(_scopes(quota)))


def _scopes(quota: Document) -> Iterator[Scope]:
    spec = quota.get("spec") or {}
    for name in spec.get("scopes") or []:
        yield Scope(name, "Exists")
    for expression in (spec.get("scopeSelector") or {}).get("matchExpressions") or []:
        values = tuple(expression.get("values") or [])
        yield Scope(expression.get("scopeName", ""), expression.get("operator", ""), values)


def _claim_matches(scope: Scope, claim: Document) -> bool:
    if scope.name != "VolumeAttributesClass":
        return False
    status = claim.get("status") or {}
    named = {
        (claim.get("spec") or {}).get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    }
    return scope.selects({name for name in named if name})


def is_terminating(pod: Document) -> bool:
    """Whether the pod's time is limited, as quotas call it."""
    return "activeDeadlineSeconds" in (pod.get("spec") or {})


def _pod_matches(scope: Scope, pod: Document) -> bool:
    spec = pod.get("spec") or {}
    match scope.name:
        case "Terminating":
            return is_terminating(pod)
        case "NotTerminating":
            return not is_terminating(pod)
        case "BestEffort":
            return quality_of_service(spec) == BEST_EFFORT
        case "NotBestEffort":
            return quality_of_service(spec) != BEST_EFFORT
        case "PriorityClass":
            return scope.selects({name for name in [spec.get("priorityClassName")] if name})
        case "CrossNamespacePodAffinity":
            return any(
                "namespaces" in term or "namespaceSelector" in term for term in _affinity(spec)
            )
        case _:
            return False


def _affinity(spec: Document) -> Iterator[Document]:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = (spec.get("affinity") or {}).get(kind) or {}
        yield from terms.get("requiredDuringSchedulingIgnoredDuringExecution") or []
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or []:
            yield weighted.get("podAffinityTerm") or {}


SCOPES: dict[str, Callable[[Scope, Document], bool]] = {
    "persistentvolumeclaims": _claim_matches,
    "pods": _pod_matches,
}
