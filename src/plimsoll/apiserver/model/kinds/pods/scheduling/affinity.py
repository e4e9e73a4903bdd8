"""Where a pod wants to run: affinity to nodes and pods, and spreading over topologies."""

from collections import Counter
from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.values import dns_label, one_of, positive, qualified_name
from plimsoll.apiserver.model.kinds.selectors import (
    label_selector_errors,
    node_selector_errors,
    node_selector_term_errors,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WEIGHTS = range(1, 101)
UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
INCLUSION = ("Honor", "Ignore")


def affinity_errors(affinity: Document, path: str) -> Iterator[FieldError]:
    yield from _node_affinity_errors(affinity.get("nodeAffinity") or {}, f"{path}.nodeAffinity")
    for name in ("podAffinity", "podAntiAffinity"):
        yield from _pod_affinity_errors(affinity.get(name) or {}, f"{path}.{name}")


def _node_affinity_errors(affinity: Document, path: str) -> Iterator[FieldError]:
    if REQUIRED in affinity:
        yield from node_selector_errors(affinity[REQUIRED], f"{path}.{REQUIRED}")
    for index, term in enumerate(affinity.get(PREFERRED) or []):
        where = f"{path}.{PREFERRED}[{index}]"
        yield from _weight_errors(term, where)
        # A preference that no label can satisfy does no harm: it is warned about instead.
        yield from node_selector_term_errors(
            term.get("preference") or {}, f"{where}.preference", any_value=True
        )


def _pod_affinity_errors(affinity: Document, path: str) -> Iterator[FieldError]:
    for index, term in enumerate(affinity.get(REQUIRED) or []):
        yield from _pod_term_errors(term, f"{path}.{REQUIRED}[{index}]")
    for index, weighted in enumerate(affinity.get(PREFERRED) or []):
        where = f"{path}.{PREFERRED}[{index}]"
        yield from _weight_errors(weighted, where)
        term = weighted.get("podAffinityTerm") or {}
        yield from _pod_term_errors(term, f"{where}.podAffinityTerm")


def _weight_errors(term: Document, path: str) -> Iterator[FieldError]:
    weight = term.get("weight", 0)
    if weight not in WEIGHTS:
        yield FieldError.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _pod_term_errors(term: Document, path: str) -> Iterator[FieldError]:
    for name in ("labelSelector", "namespaceSelector"):
        yield from label_selector_errors(term.get(name) or {}, f"{path}.{name}")
    for namespace in term.get("namespaces") or []:
        yield from dns_label(namespace, f"{path}.namespace")
    yield from _label_key_errors(term, path)
    key = term.get("topologyKey", "")
    if not key:
        yield FieldError.required(f"{path}.topologyKey", "can not be empty")
    yield from qualified_name(key, f"{path}.topologyKey")


def _label_key_errors(term: Document, path: str) -> Iterator[FieldError]:
    """Keys whose values are taken from the pod itself; they stand in the selector already."""
    matched, mismatched = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    selector = term.get("labelSelector")
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            yield FieldError.forbidden(
                f"{path}.{name}", "must not be specified when labelSelector is not set"
            )
            continue
        for index, key in enumerate(keys):
            yield from qualified_name(key, f"{path}.{name}[{index}]")
    seen = set((selector or {}).get("matchLabels") or {})
    for expression in (selector or {}).get("matchExpressions") or []:
        key = expression.get("key", "")
        if key in matched and key in seen:
            yield FieldError.invalid(
                f"{path}[{matched.index(key)}]",
                key,
                "exists in both matchLabelKeys and labelSelector",
            )
        seen.add(key)
    for index, key in enumerate(matched):
        if key in mismatched:
            yield FieldError.invalid(
                f"{path}.matchLabelKeys[{index}]",
                key,
                "exists in both matchLabelKeys and mismatchLabelKeys",
            )


def spread_errors(constraints: list[Document], path: str) -> Iterator[FieldError]:
    to_come = Counter(map(_spread_pair, constraints))
    for index, constraint in enumerate(constraints):
        where = f"{path}[{index}]"
        yield from positive(constraint.get("maxSkew", 0), f"{where}.maxSkew")
        if not constraint.get("topologyKey"):
            yield FieldError.required(f"{where}.topologyKey", "can not be empty")
        action = constraint.get("whenUnsatisfiable", "")
        yield from one_of(action, f"{where}.whenUnsatisfiable", UNSATISFIABLE)
        to_come[_spread_pair(constraint)] -= 1
        if to_come[_spread_pair(constraint)]:
            pair = "{" + ", ".join(_spread_pair(constraint)) + "}"
            yield FieldError.duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", pair)
        yield from _min_domains_errors(constraint, action, f"{where}.minDomains")
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if name in constraint:
                yield from one_of(constraint[name], f"{where}.{name}", INCLUSION)
        yield from _label_key_errors(constraint, where)
        selector = constraint.get("labelSelector") or {}
        yield from label_selector_errors(selector, f"{where}.labelSelector")


def _spread_pair(constraint: Document) -> tuple[str, str]:
    return constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")


def _min_domains_errors(constraint: Document, action: str, path: str) -> Iterator[FieldError]:
    if "minDomains" not in constraint:
        return
    yield from positive(constraint["minDomains"], path)
    if action != "DoNotSchedule":
        yield FieldError.invalid(
            path,
            constraint["minDomains"],
            f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}",
        )


def take_label_keys_from_pod(pod: Document) -> None:
    """Write the pod's own values of matchLabelKeys into the selectors, once and for all."""
    labels = (pod.get("metadata") or {}).get("labels") or {}
    for term in _terms_with_label_keys(pod.get("spec") or {}):
        if "labelSelector" not in term:
            continue
        taken = [
            {"key": key, "operator": operator, "values": [labels[key]]}
            for name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
            for key in term.get(name) or []
            if key in labels
        ]
        if taken:
            selector = term["labelSelector"]
            selector["matchExpressions"] = [*(selector.get("matchExpressions") or []), *taken]


def _terms_with_label_keys(spec: Document) -> Iterator[Document]:
    affinity = spec.get("affinity") or {}
    for name in ("podAffinity", "podAntiAffinity"):
        kind = affinity.get(name) or {}
        yield from kind.get(REQUIRED) or []
        for weighted in kind.get(PREFERRED) or []:
            yield weighted.get("podAffinityTerm") or {}
    yield from spec.get("topologySpreadConstraints") or []
