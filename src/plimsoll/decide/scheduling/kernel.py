"""Where a pod goes: the node, and what is to be done for its claims there.

Every node is judged. A node that was promised to the pod when others had to leave it is taken if it
will do. Of all others that will do the one with the most static matches wins: by default volumes
that exist are used before new ones are provisioned. Then the best score wins. A class can say that
static matches do not come first, and which capacity should stay free; nodes where it would not come
after all others. Of equal ones each attempt takes another; nodes that were refused to the pod come
last. The same cluster, pod and attempt give the same choice.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

import numpy as np

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.counts import Count, counts
from plimsoll.decide.scheduling.explanation import Explanation, ExplanationBasis, explain
from plimsoll.decide.scheduling.flags import BITS_BY_RULE, AnyRule, Blocked
from plimsoll.decide.scheduling.judge import (
    Judge,
    Judged,
    KernelSettings,
    find_scoring_error,
)
from plimsoll.decide.scheduling.picking import pick, put_back, turn_of
from plimsoll.decide.scheduling.policy import Policy, scheduler_of
from plimsoll.decide.scheduling.preemption.column_trials import (
    find_nominated_obstacle,
    with_nominated,
)
from plimsoll.decide.scheduling.preemption.messages import not_helpful_text
from plimsoll.decide.scheduling.preemption.preemptor import (
    NoPreemption,
    Preemption,
    Preemptor,
    without_volumes_on,
)
from plimsoll.decide.scheduling.profiles.profile import Profile
from plimsoll.decide.scheduling.reasons import FIT, Reason, Rule
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules.pod_topology_spread.columns import KeptSpreadState
from plimsoll.decide.scheduling.rules.pod_topology_spread.default_constraints import defaults_of
from plimsoll.decide.scheduling.rules.pod_topology_spread.filter import SpreadState
from plimsoll.decide.scheduling.rules.pod_topology_spread.pinned_volumes import pinned_and_spread
from plimsoll.decide.scheduling.rules.volume_binding.joint_fit import JointFit
from plimsoll.decide.scheduling.rules.volume_binding.shortage import (
    JOINT_REASONS,
    is_joint,
    joint_shortage,
    shortages,
)
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import PodVolumes

NO_VOLUMES = PodVolumes()
NO_PROFILES: Mapping[str, KernelSettings] = {}
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
    preemption: str = ""
    """What came of the question whether other pods could leave a node for it; empty: not asked."""
    judged: Judged | None = field(default=None, compare=False, repr=False)
    """By which nodes could be freed for the pod, until the next change to the columns."""
    narrowed_by: tuple[AnyRule, ...] = ()
    """Rules that name the nodes that were looked at."""
    shortages: tuple[str, ...] = ()
    """Claims that nothing that is published is large enough for, and claims that fit alone and not
    together on some node, with the sizes."""

    @property
    def rules(self) -> tuple[AnyRule, ...]:
        """All that turned the pod away from some node: changes that they care for can help it."""
        if self.rejected is not None:
            return self.rejected.rules
        found = (count.rule for count in self.counts)
        return tuple(dict.fromkeys((*self.narrowed_by, *found)))

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
        codes = ", ".join(sorted(self.reasons))
        told = "; ".join((codes, *self.shortages))
        text = f"{self.fit_error} {self.preemption}" if self.preemption else self.fit_error
        return f"{text} [{told}]" if codes else text

    @property
    def fit_error(self) -> str:
        """As kube-scheduler puts it."""
        listed = ", ".join(sorted(self._listed()))
        return f"0/{self.nodes} nodes are available{f': {listed}' if listed else ''}."

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

    def __init__(
        self,
        columns: Columns,
        settings: KernelSettings | None = None,
        profiles: Mapping[str, KernelSettings] = NO_PROFILES,
    ) -> None:
        """`profiles` are by scheduler name; all other pods are judged by `settings`. The policy is
        one for all."""
        self.columns = columns
        self.settings = settings or KernelSettings()
        self._judge = Judge(columns, self.settings)
        self._spread = KeptSpreadState(columns)
        self._preemptor = Preemptor(columns)
        self._profiles = profiles
        self._judges = {
            name: self._judge_of(each) for name, each in profiles.items() if each != self.settings
        }

    def profile_of(self, pod: Pod) -> Profile:
        return self._judge_for(pod).profile

    def _judge_of(self, settings: KernelSettings) -> Judge:
        is_same = settings.shape == self.settings.shape
        shared = self._judge.volume_binding if is_same else None
        return Judge(self.columns, settings, shared)

    def _judge_for(self, pod: Pod) -> Judge:
        return self._judges.get(scheduler_of(pod), self._judge) if self._judges else self._judge

    def decide(
        self, pod: Pod, *, attempt: int = 0, refused: Sequence[str] = ()
    ) -> Placement | NoNode:
        """`refused` are nodes to be taken only if there is no other, the first of them first."""
        judged = self.judge(pod)
        nodes = len(self.columns.index)
        if isinstance(judged, Rejected):
            return NoNode(nodes=nodes, rejected=judged)
        feasible = int(np.count_nonzero(judged.is_feasible))
        promised = self._nominated(judged, refused)
        slot = promised
        if slot is None and feasible:
            slot = self._best(judged, turn_of(pod, attempt), refused)
        if slot is None:
            found = counts(judged, self.columns, lambda at, rule: self._sentence(pod, at, rule))
            return NoNode(
                nodes=nodes,
                counts=found,
                narrowed_by=judged.narrowing.rules if judged.narrowing else (),
                shortages=self._shortages(pod, judged, found),
                judged=judged,
            )
        is_compared = feasible > 1 and promised is None
        error = self.find_scoring_error(pod) if is_compared else None
        if error is not None:
            return NoNode(nodes=nodes, rejected=error)
        return Placement(
            node=self.columns.index.names[slot],
            volumes=self._volumes(judged, slot),
            score=judged.total_of(slot),
            feasible=feasible,
            nodes=nodes,
        )

    def preempt(
        self, refused: NoNode, *, attempt: int = 0, avoided: Collection[str] = ()
    ) -> Preemption | NoPreemption:
        """Who may be told to leave so that the pod of a decision of this moment finds a node. No
        pod has to leave one of the nodes that are avoided."""
        judged = refused.judged
        if judged is None:
            return NoPreemption(not_helpful_text(refused.nodes))
        if avoided:
            judged = without_volumes_on(avoided, judged, self.columns.index)
        return self._preemptor.decide(judged, attempt=attempt)

    def judge(self, pod: Pod) -> Judged | Rejected:
        """All nodes, for callers that want to know more than the best."""
        judged = self._judge_for(pod).judge(pod)
        if isinstance(judged, Rejected) or not self.columns.nominations.by_node:
            return judged
        return with_nominated(judged, self.columns)

    def find_scoring_error(self, pod: Pod) -> Rejected | None:
        """Why nodes cannot be compared; None: they can."""
        return find_scoring_error(pod) if self.settings.policy is Policy.COMPATIBLE else None

    def explain_node(self, pod: Pod, node: str) -> Explanation:
        """Every rule's findings about one node, with numbers. Raises KeyError if there is none."""
        found = self.columns.node(node)
        if found is None:
            raise KeyError(f"node {node} does not exist")
        profile = self.profile_of(pod)
        spread = self._spread.of(pod, defaults_of(profile.spread))
        basis = ExplanationBasis(joint=self.joint_fit, profile=profile, spread=spread)
        explanation = explain(pod, found, self.columns, basis)
        if self.settings.policy is Policy.DEFAULT and self._is_rescued(pod, node, explanation):
            judgements = {**explanation.judgements, Rule.VOLUME_BINDING: FIT}
            explanation = replace(explanation, judgements=judgements)
        return self._beside_nominated(pod, explanation)

    def _beside_nominated(self, pod: Pod, explanation: Explanation) -> Explanation:
        """Where the node would do, were it not promised to others as well."""
        if not self.columns.nominations.by_node or not explanation.is_fit:
            return explanation
        judged = self._judge_for(pod).judge(pod)
        if isinstance(judged, Rejected):
            return explanation
        obstacle = find_nominated_obstacle(judged, self.columns, explanation.node)
        if obstacle is None or obstacle.rule is None:
            return explanation
        judgements = {**explanation.judgements, obstacle.rule: obstacle.judgement}
        return replace(explanation, judgements=judgements)

    @property
    def joint_fit(self) -> JointFit | None:
        """By which the claims of a pod are judged together; None: the policy does not."""
        if self.settings.policy is Policy.COMPATIBLE:
            return None
        charges = self._judge.volume_binding.delayed.joint_fit.charges
        charges.refresh()
        return JointFit(charges)

    def advance(self, now: datetime) -> frozenset[str]:
        """Tell the time. Returns the storage classes of volumes for which room was reserved until
        now."""
        passed = self.columns.reservations.advance(now)
        if not passed or self.settings.policy is Policy.COMPATIBLE:
            return frozenset()
        charges = self._judge.volume_binding.delayed.joint_fit.charges
        charged = charges.of_claims(passed)
        charges.refresh()
        ended = charged - charges.of_claims(passed)
        return frozenset().union(*(passed[key.claim] for key in ended))

    def volumes_on(self, pod: Pod, node: str) -> PodVolumes | None:
        """What the pod would get there; None: it cannot go there."""
        judged, slot = self.judge(pod), self.columns.index.find(node)
        if isinstance(judged, Rejected) or slot is None or not judged.is_feasible[slot]:
            return None
        return self._volumes(judged, slot)

    def fork(self) -> "Kernel":
        """To try changes out: nothing of it comes back here."""
        return Kernel(self.columns.fork(), self.settings, self._profiles)

    def _nominated(self, judged: Judged, refused: Sequence[str]) -> int | None:
        """The node that was promised to the pod, if it will do: then no other is looked for."""
        nominations = self.columns.nominations
        if not nominations.by_node and not judged.pod.status.nominated_node_name:
            return None
        node = nominations.node_of(judged.pod)
        slot = self.columns.index.find(node) if node and node not in refused else None
        return slot if slot is not None and judged.is_feasible[slot] else None

    def _best(self, judged: Judged, turn: int, refused: Sequence[str]) -> int | None:
        """Some node will do."""
        index = self.columns.index
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
            # Slots that no node has may have flags, too.
            index = self.columns.index
            together = judged.flags[index.by_name] & np.uint64(JOINT_FLAGS)
            slot = int(index.by_name[np.flatnonzero(together)[0]])
            explanation = self.explain_node(pod, index.names[slot])
            told += map(joint_shortage, filter(is_joint, explanation.findings))
        if Reason.SPREAD_CONFLICT in reasons and pod.claims:
            told += self._pinned(pod, judged)
        return tuple(told)

    def _pinned(self, pod: Pod, judged: Judged) -> Iterator[str]:
        spread = self._spread.of(pod, defaults_of(self.profile_of(pod).spread))
        if isinstance(spread, SpreadState):
            explain_node = partial(self.explain_node, pod)
            yield from pinned_and_spread(spread, judged.flags, self.columns, explain_node)

    def _volumes(self, judged: Judged, slot: int) -> PodVolumes:
        if judged.volumes.delayed_claims is None:
            return NO_VOLUMES
        volume_binding = self._judge_for(judged.pod).volume_binding
        return volume_binding.bind(judged.volumes.delayed_claims, slot)

    def _sentence(self, pod: Pod, slot: int, rule: AnyRule) -> str:
        explanation = self.explain_node(pod, self.columns.index.names[slot])
        sentences = explanation.judgements[rule].sentences
        return sentences[0] if sentences else str(rule)

    def _is_rescued(self, pod: Pod, node: str, explanation: Explanation) -> bool:
        """Whether the plain rule refuses a node for which an assignment exists."""
        if explanation.judgements[Rule.VOLUME_BINDING].is_fit:
            return False
        judged, slot = self.judge(pod), self.columns.index.find(node)
        if isinstance(judged, Rejected) or slot is None:
            return False
        return not int(judged.flags[slot]) & BITS_BY_RULE[Rule.VOLUME_BINDING]
