"""Which objects a ResourceQuota looks at: all, or those in every one of its scopes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from plimsoll.api.registry import Document


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
    if group or plural not in SCOPES:
        return not any(_scopes(quota))
    matches = SCOPES[plural]
    return all(matches(scope, document) for scope in _scopes(quota))


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


def _pod_matches(scope: Scope, pod: Document) -> bool:
    spec = pod.get("spec") or {}
    match scope.name:
        case "Terminating":
            return "activeDeadlineSeconds" in spec
        case "NotTerminating":
            return "activeDeadlineSeconds" not in spec
        case "BestEffort":
            return _asks_for_nothing(spec)
        case "NotBestEffort":
            return not _asks_for_nothing(spec)
        case "PriorityClass":
            return scope.selects({name for name in [spec.get("priorityClassName")] if name})
        case "CrossNamespacePodAffinity":
            return any(
                "namespaces" in term or "namespaceSelector" in term for term in _affinity(spec)
            )
        case _:
            return False


def _asks_for_nothing(spec: Document) -> bool:
    """No container wants a certain amount of cpu or memory."""
    containers = [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]
    return not any(
        name in ("cpu", "memory") and amount != "0"
        for part in (*containers, spec)
        for field in ("requests", "limits")
        for name, amount in ((part.get("resources") or {}).get(field) or {}).items()
    )


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
