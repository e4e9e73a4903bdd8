"""Which nodes a pod wants, and from which nodes a volume can be reached.

A term that makes no sense never matches. It is complained about only when no other term matched
either: that is how kube-scheduler treats objects stored before their rules became stricter.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from plimsoll.api.meta import ApiStruct
from plimsoll.api.selectors.complaints import invalid, joined, unsupported
from plimsoll.api.selectors.field import FieldTerm
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.selectors.requirement import Operator, Requirement, requirement_complaints

OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
    "Gt": Operator.GREATER_THAN,
    "Lt": Operator.LESS_THAN,
}
FIELD_OPERATORS = ("In", "NotIn")
NO_TERM_MATCHES = "no matching NodeSelectorTerms"


class NodeRequirementSpec(ApiStruct, frozen=True, kw_only=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class NodeTermSpec(ApiStruct, frozen=True, kw_only=True):
    match_expressions: tuple[NodeRequirementSpec, ...] = ()
    match_fields: tuple[NodeRequirementSpec, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.match_expressions and not self.match_fields


class NodeSelectorSpec(ApiStruct, frozen=True, kw_only=True):
    node_selector_terms: tuple[NodeTermSpec, ...] = ()


class PreferredTermSpec(ApiStruct, frozen=True, kw_only=True):
    weight: int = 0
    preference: NodeTermSpec = NodeTermSpec()


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """All requirements must hold."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldTerm, ...] = ()
    complaints: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: NodeTermSpec, path: str) -> Self:
        complaints: list[str] = []
        labels = tuple(_read_labels(spec, path, complaints))
        fields = tuple(_read_fields(spec, path, complaints))
        return cls(labels, fields, tuple(complaints))

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        if self.complaints or not all(requirement.matches(labels) for requirement in self.labels):
            return False
        # Without a name it is not a node that is asked about, but the labels of many.
        return not name or all(term.matches({"metadata.name": name}) for term in self.fields)


def _read_labels(spec: NodeTermSpec, path: str, complaints: list[str]) -> Iterator[Requirement]:
    for index, expression in enumerate(spec.match_expressions):
        where = f"{path}.matchExpressions[{index}]"
        operator = OPERATORS.get(expression.operator)
        if operator is None:
            complaints.append(unsupported(f"{where}.operator", expression.operator, OPERATORS))
            continue
        complaints += requirement_complaints(expression.key, operator, expression.values, where)
        yield Requirement(expression.key, operator, expression.values or ())


def _read_fields(spec: NodeTermSpec, path: str, complaints: list[str]) -> Iterator[FieldTerm]:
    for index, expression in enumerate(spec.match_fields):
        where = f"{path}.matchFields[{index}]"
        values = expression.values or ()
        if expression.operator not in FIELD_OPERATORS:
            complaints.append(
                unsupported(f"{where}.operator", expression.operator, FIELD_OPERATORS)
            )
        elif len(values) != 1:
            complaints.append(
                invalid(f"{where}.values", expression.values, "must have one element")
            )
        else:
            yield FieldTerm(expression.key, values[0], is_equal=expression.operator == "In")


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """Any of the terms must match; without any, no node is selected."""

    terms: tuple[NodeTerm, ...] = ()

    @staticmethod
    def of(spec: NodeSelectorSpec) -> "NodeSelector":
        return _read_selector(spec)

    @property
    def complaint(self) -> str:
        """What is wrong with the terms; empty if nothing is. Matters only if no term matches."""
        complaints = [complaint for term in self.terms for complaint in term.complaints]
        return joined(complaints) if complaints else ""

    def matches(self, labels: Mapping[str, str], name: str = "") -> bool:
        return any(term.matches(labels, name) for term in self.terms)


@lru_cache(maxsize=4096)
def _read_selector(spec: NodeSelectorSpec) -> NodeSelector:
    """Kept: the volumes of a zone all have the same, and are looked at again and again."""
    return NodeSelector(
        tuple(
            NodeTerm.of(term, f"nodeSelectorTerms[{index}]")
            for index, term in enumerate(spec.node_selector_terms)
            if not term.is_empty
        )
    )


@dataclass(frozen=True, slots=True)
class RequiredNodes:
    """What a pod demands of its node: the labels it names, and its required node affinity."""

    labels: LabelSelector
    affinity: NodeSelector | None

    @classmethod
    def of(cls, node_labels: Mapping[str, str], affinity: NodeSelectorSpec | None) -> Self:
        return cls(
            LabelSelector.of_labels(node_labels),
            None if affinity is None else NodeSelector.of(affinity),
        )

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        return self.labels.matches(labels) and (
            self.affinity is None or self.affinity.matches(labels, name)
        )

    def complaint(self, labels: Mapping[str, str], name: str) -> str:
        """Why the affinity could not be read, if that decided about this node."""
        if self.affinity is None or not self.labels.matches(labels):
            return ""
        return "" if self.affinity.matches(labels, name) else self.affinity.complaint


@dataclass(frozen=True, slots=True)
class PreferredNodes:
    """What a pod would like of its node."""

    terms: tuple[tuple[int, NodeTerm], ...] = ()

    @classmethod
    def of(cls, specs: Sequence[PreferredTermSpec]) -> Self:
        terms = tuple(
            (spec.weight, NodeTerm.of(spec.preference, f"[{index}]"))
            for index, spec in enumerate(specs)
            if spec.weight and not spec.preference.is_empty
        )
        complaints = [complaint for _, term in terms for complaint in term.complaints]
        if complaints:
            raise ValueError(joined(complaints))
        return cls(terms)

    def score(self, labels: Mapping[str, str], name: str) -> int:
        return sum(weight for weight, term in self.terms if term.matches(labels, name))
