"""What a pod asks about the spreading of pods like it, read once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod, TopologySpreadConstraint
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.selectors.node import RequiredNodes
from plimsoll.decide.scheduling.rules import taint_toleration
from plimsoll.decide.scheduling.rules.node_affinity import AffinityTerms

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
HONOR = "Honor"
HOSTNAME = "kubernetes.io/hostname"

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    topology_key: str
    max_skew: int
    pods: LabelSelector
    min_domains: int = 1
    honors_affinity: bool = True
    """Whether only nodes count that the pod selects."""
    honors_taints: bool = False
    """Whether only nodes count whose taints the pod tolerates."""

    @classmethod
    def of(cls, spec: TopologySpreadConstraint, labels: Labels) -> Self:
        """Of a pod with these labels. Raises ValueError if the selector cannot be read."""
        return cls(
            spec.topology_key,
            spec.max_skew,
            _with_label_keys(LabelSelector.of(spec.label_selector), spec.match_label_keys, labels),
            1 if spec.min_domains is None else spec.min_domains,
            spec.node_affinity_policy in (None, HONOR),
            spec.node_taints_policy == HONOR,
        )

    @property
    def is_by_node(self) -> bool:
        return self.topology_key == HOSTNAME

    @property
    def counts_pods(self) -> bool:
        """A selector without conditions selects every pod, and yet none is counted by it."""
        return not self.pods.is_empty and not self.pods.selects_nothing

    def counts(self, labels: Labels) -> bool:
        return self.counts_pods and self.pods.matches(labels)


def _with_label_keys(selector: LabelSelector, keys: Iterable[str], labels: Labels) -> LabelSelector:
    """Also with the pod's own values of some labels, as far as it has them."""
    own = {key: labels[key] for key in keys if key in labels}
    if not own or selector.selects_nothing:
        return selector
    return LabelSelector((*LabelSelector.of_labels(own).requirements, *selector.requirements))


def read_constraints(
    specs: Iterable[TopologySpreadConstraint], labels: Labels, when: str
) -> tuple[SpreadConstraint, ...]:
    """Those that are `HARD`, or those that are `SOFT`. Raises ValueError."""
    return tuple(
        SpreadConstraint.of(spec, labels) for spec in specs if spec.when_unsatisfiable == when
    )


@dataclass(frozen=True)
class NodeInclusion:
    """Which nodes count for a pod's constraints."""

    pod: Pod

    @cached_property
    def required(self) -> RequiredNodes | None:
        return AffinityTerms.of(self.pod).required

    def includes(self, node: Node, constraint: SpreadConstraint) -> bool:
        if constraint.honors_affinity and not self._is_selected(node):
            return False
        return not constraint.honors_taints or taint_toleration.judge(self.pod, node).is_fit

    def _is_selected(self, node: Node) -> bool:
        return self.required is None or self.required.matches(node.labels, node.name)


def has_all_keys(labels: Labels, constraints: Iterable[SpreadConstraint]) -> bool:
    return all(constraint.topology_key in labels for constraint in constraints)
