"""Where a pod goes: the node, and what is to be done for its claims there.

Every node is judged. Of those that will do the one with the most static matches wins: by default
volumes that exist are used before new ones are provisioned. Then the best score wins. Of equal ones
each attempt takes another; nodes that were refused to the pod come last. The same cluster, pod and
attempt give the same choice.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.counts import Count, counts
from plimsoll.decide.scheduling.explanation import Explanation, explain
from plimsoll.decide.scheduling.flags import BITS_BY_RULE, AnyRule, Blocked
from plimsoll.decide.scheduling.judge import Judge, Judged, KernelSettings, Rejected
from plimsoll.decide.scheduling.picking import pick, put_back, turn_of
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.reasons import FIT, Reason, Rule
from plimsoll.decide.scheduling.rules.volume_binding.joint_fit import JointFit
from plimsoll.decide.scheduling.rules.volume_binding.shortage import (
    JOINT_REASONS,
    is_joint,
    joint_shortage,
    shortages,
)
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import PodVolumes

NO_VOLUMES = PodVolumes()
JOINT_FLAGS = Blocked.DELAYED_TOGETHER | Blocked.DELAYED_RESERVED


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The node was chosen."""

    node: str
    volumes: PodVolumes
    score: int
    feasible: int
    """How many nodes would have done."""
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoNode:
    """There is none, and why."""

    nodes: int
    rejected: Rejected | None = None
    """Not because of the nodes, but of the pod or its claims."""
    counts: tuple[Count, ...] = ()
    shortages: tuple[str, ...] = ()
    """Claims that nothing that is published is large enough for, and claims that fit alone and not
    together on some node, with the sizes."""

    @property
    def rules(self) -> tuple[AnyRule, ...]:
        """All that turned the pod away from some node: changes that they care for can help it."""
        if self.rejected is not None:
            return (self.rejected.rule,)
        return tuple(dict.fromkeys(count.rule for count in self.counts))

    @property
    def reasons(self) -> dict[Reason, int]:
        """By number of nodes."""
        if self.rejected is not None:
            reasons = [finding.reason for finding in self.rejected.judgement.findings]
            return dict.fromkeys(reasons, self.nodes)
        found: Counter[Reason] = Counter()
        for count in self.counts:
            found[count.reason] += count.nodes
        return dict(found)

    @property
    def message(self) -> str:
        """As kube-scheduler puts it, followed by our reasons."""
        listed = sorted(self._listed())
        text = f"0/{self.nodes} nodes are available"
        if listed:
            text += f": {', '.join(listed)}"
        codes = ", ".join(sorted(self.reasons))
        told = "; ".join((codes, *self.shortages))
        return f"{text}. [{told}]" if codes else f"{text}."

    def _listed(self) -> Iterator[str]:
        if self.rejected is not None:
            yield from self.rejected.judgement.sentences
            return
        by_sentence: Counter[str] = Counter()
        for count in self.counts:
            by_sentence[count.sentence] += count.nodes
        for sentence, number in by_sentence.items():
            yield f"{number} {sentence}"


class Kernel:
    """The decision, with what it remembers from pod to pod. Belongs to one set of columns, and
    follows every change that these are given."""

    def __init__(self, columns: Columns, settings: KernelSettings | None = None) -> None:
        self.columns = columns
        self.settings = settings or KernelSettings()
        self._judge = Judge(columns, self.settings)

    def decide(
        self, pod: Pod, *, attempt: int = 0, refused: Sequence[str] = ()
    ) -> Placement | NoNode:
        """`refused` are nodes to be taken only if there is no other, the first of them first."""
        judged = self._judge.judge(pod)
        nodes = len(self.columns.index)
        if isinstance(judged, Rejected):
            return NoNode(nodes=nodes, rejected=judged)
        slot = self._best(judged, turn_of(pod, attempt), refused)
        if slot is None:
            found = counts(judged, self.columns, lambda at, rule: self._sentence(pod, at, rule))
            return NoNode(nodes=nodes, counts=found, shortages=self._shortages(pod, judged, found))
        return Placement(
            node=self.columns.index.names[slot],
            volumes=self._volumes(judged, slot),
            score=judged.total_of(slot),
            feasible=int(np.count_nonzero(judged.is_feasible)),
            nodes=nodes,
        )

    def judge(self, pod: Pod) -> Judged | Rejected:
        """All nodes, for callers that want to know more than the best."""
        return self._judge.judge(pod)

    def explain_node(self, pod: Pod, node: str) -> Explanation:
        """Every rule's findings about one node, with numbers. Raises KeyError if there is none."""
        found = self.columns.node(node)
        if found is None:
            raise KeyError(f"node {node} does not exist")
        explanation = explain(pod, found, self.columns, self.joint_fit)
        if self.settings.policy is Policy.DEFAULT and self._is_rescued(pod, node, explanation):
            judgements = {**explanation.judgements, Rule.VOLUME_BINDING: FIT}
            return replace(explanation, judgements=judgements)
        return explanation

    @property
    def joint_fit(self) -> JointFit | None:
        """By which the claims of a pod are judged together; None: the policy does not."""
        if self.settings.policy is Policy.COMPATIBLE:
            return None
        charges = self._judge.volume_binding.delayed.joint_fit.charges
        charges.refresh()
        return JointFit(charges)

    def advance(self, now: datetime) -> bool:
        """Tell the time. Returns whether room is free again that was reserved until now."""
        passed = self.columns.reservations.advance(now)
        if not passed or self.settings.policy is Policy.COMPATIBLE:
            return False
        charges = self._judge.volume_binding.delayed.joint_fit.charges
        charged = charges.of_claims(passed)
        charges.refresh()
        return not charged <= charges.of_claims(passed)

    def volumes_on(self, pod: Pod, node: str) -> PodVolumes | None:
        """What the pod would get there; None: it cannot go there."""
        judged, slot = self._judge.judge(pod), self.columns.index.find(node)
        if isinstance(judged, Rejected) or slot is None or judged.flags[slot]:
            return None
        return self._volumes(judged, slot)

    def fork(self) -> "Kernel":
        """To try changes out: nothing of it comes back here."""
        return Kernel(self.columns.fork(), self.settings)

    def _best(self, judged: Judged, turn: int, refused: Sequence[str]) -> int | None:
        index = self.columns.index
        if not index.size:
            return None
        keys = judged.keys()
        if refused:
            keys = put_back(keys, refused, index)
        return pick(keys, index, turn)

    def _shortages(self, pod: Pod, judged: Judged, found: Sequence[Count]) -> tuple[str, ...]:
        reasons = {count.reason for count in found}
        told: list[str] = []
        if Reason.CAPACITY_TOO_SMALL in reasons:
            told += shortages(pod, self.columns)
        if not reasons.isdisjoint(JOINT_REASONS):
            together = np.flatnonzero(judged.flags & np.uint64(JOINT_FLAGS))
            explanation = self.explain_node(pod, self.columns.index.names[int(together[0])])
            told += map(joint_shortage, filter(is_joint, explanation.findings))
        return tuple(told)

    def _volumes(self, judged: Judged, slot: int) -> PodVolumes:
        if judged.volumes.delayed_claims is None:
            return NO_VOLUMES
        return self._judge.volume_binding.bind(judged.volumes.delayed_claims, slot)

    def _sentence(self, pod: Pod, slot: int, rule: AnyRule) -> str:
        explanation = self.explain_node(pod, self.columns.index.names[slot])
        sentences = explanation.judgements[rule].sentences
        return sentences[0] if sentences else str(rule)

    def _is_rescued(self, pod: Pod, node: str, explanation: Explanation) -> bool:
        """Whether the plain rule refuses a node for which an assignment exists."""
        if explanation.judgements[Rule.VOLUME_BINDING].is_fit:
            return False
        judged, slot = self._judge.judge(pod), self.columns.index.find(node)
        if isinstance(judged, Rejected) or slot is None:
            return False
        return not int(judged.flags[slot]) & BITS_BY_RULE[Rule.VOLUME_BINDING]
