"""What is wrong with a selector: of labels, of nodes, of topology.

Whether a selector matches is another question, answered where selectors are used. Paths are given
by the caller, because the same selector sits in many kinds.
"""

from collections.abc import Iterator, Mapping, Sequence

from plimsoll.api.names import (
    label_value_errors,
    name_is_dns_subdomain,
    qualified_name_errors,
)
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError

VALUES_NEEDED = "must be specified when `operator` is 'In' or 'NotIn'"
VALUES_FORBIDDEN = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
ONE_VALUE_NEEDED = "must be specified single value when `operator` is 'Lt' or 'Gt'"
ONE_NAME_NEEDED = (
    "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
)
NOT_AN_OPERATOR = "not a valid selector operator"


def label_key_errors(key: str, path: str) -> Iterator[FieldError]:
    for error in qualified_name_errors(key):
        yield FieldError.invalid(path, key, error)


def labels_errors(labels: Mapping[str, str], path: str) -> Iterator[FieldError]:
    """Complaints name the whole map, as the keys may hold anything."""
    for key, value in labels.items():
        yield from label_key_errors(key, path)
        for error in label_value_errors(value):
            yield FieldError.invalid(path, value, error)


def label_selector_errors(
    selector: Document, path: str, *, any_value: bool = False
) -> Iterator[FieldError]:
    """`any_value`: tolerate values that are no label values, because the stored object has some."""
    yield from labels_errors(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions") or []):
        where = f"{path}.matchExpressions[{index}]"
        yield from _set_operator_errors(requirement, where, numeric=False)
        yield from label_key_errors(requirement.get("key", ""), f"{where}.key")
        if not any_value:
            yield from _values_errors(requirement, where)


def node_selector_errors(
    selector: Document, path: str, *, any_value: bool = False
) -> Iterator[FieldError]:
    terms = selector.get("nodeSelectorTerms") or []
    if not terms:
        yield FieldError.required(
            f"{path}.nodeSelectorTerms", "must have at least one node selector term"
        )
    for index, term in enumerate(terms):
        yield from node_selector_term_errors(
            term, f"{path}.nodeSelectorTerms[{index}]", any_value=any_value
        )


def node_selector_term_errors(
    term: Document, path: str, *, any_value: bool = False
) -> Iterator[FieldError]:
    for index, requirement in enumerate(term.get("matchExpressions") or []):
        where = f"{path}.matchExpressions[{index}]"
        yield from _set_operator_errors(requirement, where, numeric=True)
        yield from label_key_errors(requirement.get("key", ""), f"{where}.key")
        if not any_value:
            yield from _values_errors(requirement, where)
    for index, requirement in enumerate(term.get("matchFields") or []):
        yield from _node_field_errors(requirement, f"{path}.matchFields[{index}]")


def topology_selector_terms_errors(terms: Sequence[Document], path: str) -> Iterator[FieldError]:
    """A storage class's allowed topologies: no term may occur twice, and none may be empty."""
    seen: set[frozenset[tuple[str, frozenset[str]]]] = set()
    for index, term in enumerate(terms):
        where = f"{path}[{index}]"
        yield from _topology_term_errors(term, where)
        values = {
            expression.get("key", ""): frozenset(expression.get("values") or [])
            for expression in term.get("matchLabelExpressions") or []
        }
        segments = frozenset(values.items())
        if not segments or segments in seen:
            yield FieldError.duplicate(f"{where}.matchLabelExpressions", "")
        seen.add(segments)


def _set_operator_errors(
    requirement: Document, path: str, *, numeric: bool
) -> Iterator[FieldError]:
    values = requirement.get("values") or []
    match requirement.get("operator", ""):
        case "In" | "NotIn":
            if not values:
                yield FieldError.required(f"{path}.values", VALUES_NEEDED)
        case "Exists" | "DoesNotExist":
            if values:
                yield FieldError.forbidden(f"{path}.values", VALUES_FORBIDDEN)
        case "Gt" | "Lt" if numeric:
            if len(values) != 1:
                yield FieldError.required(f"{path}.values", ONE_VALUE_NEEDED)
        case operator:
            yield FieldError.invalid(f"{path}.operator", operator, NOT_AN_OPERATOR)


def _values_errors(requirement: Document, path: str) -> Iterator[FieldError]:
    for index, value in enumerate(requirement.get("values") or []):
        for error in label_value_errors(value):
            yield FieldError.invalid(f"{path}.values[{index}]", value, error)


def _node_field_errors(requirement: Document, path: str) -> Iterator[FieldError]:
    """The only field of a node that can be selected is its name."""
    values = requirement.get("values") or []
    operator = requirement.get("operator", "")
    if operator not in ("In", "NotIn"):
        yield FieldError.invalid(f"{path}.operator", operator, NOT_AN_OPERATOR)
    elif len(values) != 1:
        yield FieldError.required(f"{path}.values", ONE_NAME_NEEDED)
    key = requirement.get("key", "")
    if key != "metadata.name":
        yield FieldError.invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        for error in name_is_dns_subdomain(value, prefix=False):
            yield FieldError.invalid(f"{path}.values[{index}]", value, error)


def _topology_term_errors(term: Document, path: str) -> Iterator[FieldError]:
    keys: set[str] = set()
    for index, expression in enumerate(term.get("matchLabelExpressions") or []):
        where = f"{path}.matchLabelExpressions[{index}]"
        values = expression.get("values") or []
        if not values:
            yield FieldError.required(f"{where}.values")
        for position, value in enumerate(values):
            if value in values[:position]:
                yield FieldError.duplicate(f"{where}.values[{position}]", value)
        key = expression.get("key", "")
        yield from label_key_errors(key, f"{where}.key")
        if key in keys:
            yield FieldError.duplicate(f"{where}.key", key)
        keys.add(key)


DEPRECATED_NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def deprecated_key_warnings(expressions: Sequence[Document], path: str) -> Iterator[str]:
    """Warn of node labels that went out of use; `path` is that of the list of expressions."""
    for index, expression in enumerate(expressions):
        key = expression.get("key", "")
        if key in DEPRECATED_NODE_LABELS:
            yield f"{path}[{index}].key: {key} is {DEPRECATED_NODE_LABELS[key]}"
