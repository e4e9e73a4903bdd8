"""Where a storage class allows its volumes to be: its allowedTopologies."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from plimsoll.api.meta import ApiStruct
from plimsoll.api.selectors.requirement import Operator, Requirement, parse_requirement


class TopologyLabelSpec(ApiStruct, frozen=True, kw_only=True):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologyTermSpec(ApiStruct, frozen=True, kw_only=True):
    match_label_expressions: tuple[TopologyLabelSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class TopologySelector:
    """Any of the terms must match; a term that makes no sense never does."""

    terms: tuple[tuple[Requirement, ...], ...] = ()
    allows_everything: bool = False

    @classmethod
    def of(cls, specs: Sequence[TopologyTermSpec]) -> Self:
        """A class without terms allows everything."""
        return cls(tuple(_readable_terms(specs)), allows_everything=not specs)

    def matches(self, labels: Mapping[str, str]) -> bool:
        return self.allows_everything or any(
            all(requirement.matches(labels) for requirement in term) for term in self.terms
        )


def _readable_terms(specs: Sequence[TopologyTermSpec]) -> Iterator[tuple[Requirement, ...]]:
    for spec in specs:
        try:
            term = tuple(
                parse_requirement(label.key, Operator.IN, label.values)
                for label in spec.match_label_expressions
            )
        except ValueError:
            continue
        if term:
            yield term
