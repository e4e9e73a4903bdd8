"""What a pod that no node will do for may have done: which pods leave which node.

Nodes that lack nothing but resources are all compared, at once. On other nodes each trial costs
time, so the search among them ends as in kube-scheduler, when there are candidates enough: a tenth
of the nodes that could be freed, or a hundred. It begins at another node for each pod and attempt.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import NodeIndex, Slots
from plimsoll.decide.scheduling.columns.resources import ALL, ALL_ROWS
from plimsoll.decide.scheduling.counts import sentences
from plimsoll.decide.scheduling.flags import (
    CURABLE,
    RESOURCE_BITS,
    Blocked,
    Flags,
    of_first_rule,
)
from plimsoll.decide.scheduling.judge import Judged
from plimsoll.decide.scheduling.picking import turn_of
from plimsoll.decide.scheduling.preemption.choice import best_of
from plimsoll.decide.scheduling.preemption.column_trials import ColumnTrials, tried_alone
from plimsoll.decide.scheduling.preemption.eligibility import NotEligible, find_ineligibility
from plimsoll.decide.scheduling.preemption.freed_nodes import FreedNodes
from plimsoll.decide.scheduling.preemption.messages import (
    counted_text,
    placement_text,
    preemption_text,
)
from plimsoll.decide.scheduling.preemption.resource_search import ResourceSearch
from plimsoll.decide.scheduling.preemption.victims import (
    NO_VICTIMS_SENTENCE,
    Candidate,
    find_victims,
)
from plimsoll.decide.scheduling.reasons import Verdict
from plimsoll.decide.scheduling.rules.node_resources_fit import scalar_flags

FIXED = np.uint64((1 << 64) - 1 & ~int(CURABLE) & ~RESOURCE_BITS & ~int(Blocked.POD_AFFINITY))
"""What speaks against a node whichever pods leave it. A pod that wants to be near others goes
anywhere when there are none left, so that is not among it."""
RESOURCES = np.uint64(RESOURCE_BITS)
BEYOND_RESOURCES = np.uint64((1 << 64) - 1 & ~RESOURCE_BITS)
BEYOND_NODES = (1 << 64) - 1 & ~RESOURCE_BITS & ~int(Blocked.NO_NODE)
CURABLE_BITS = int(CURABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preemption:
    """These pods leave, then the node is free for the pod."""

    node: str
    victims: tuple[Pod, ...]
    """The most important first; some may be leaving already."""
    violations: int
    """How many of them a PodDisruptionBudget protects."""
    losers: tuple[Pod, ...] = ()
    """Less important pods that were promised the node, and have to look again."""

    @property
    def evicted(self) -> tuple[Pod, ...]:
        """Those that are still to be told to leave."""
        return tuple(pod for pod in self.victims if not pod.is_being_deleted)

    @property
    def message(self) -> str:
        return placement_text(self.node, len(self.victims))


@dataclass(frozen=True, slots=True)
class NoPreemption:
    """No pod leaves, and why."""

    message: str
    keeps_nomination: bool = False
    """Whether a node that was promised to the pod stays promised."""


def without_volumes_on(nodes: Collection[str], judged: Judged, index: NodeIndex) -> Judged:
    """As if no volume were to be had on these nodes, whichever pods leave them."""
    slots = [slot for name in nodes if (slot := index.find(name)) is not None]
    flags = judged.flags.copy()
    flags[slots] |= np.uint64(Blocked.DELAYED_NO_VOLUME)
    return replace(judged, first=flags, blocked=())


class Preemptor:
    """The decision, with what it remembers from pod to pod; belongs to one set of columns."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._search = ResourceSearch(columns)

    def decide(self, judged: Judged, *, attempt: int = 0) -> Preemption | NoPreemption:
        """For a pod that no node will do for. `judged` must be of this moment."""
        if ineligible := self._ineligibility(judged):
            return NoPreemption(preemption_text(ineligible), keeps_nomination=True)
        demands = judged.node_fit.required
        freed = self._search.of(demands, judged.pod.priority)
        search = NodeSearch(judged, self._columns, freed, turn_of(judged.pod, attempt))
        best = search.best()
        if best is None:
            return NoPreemption(search.refusal_text())
        return self._outcome(judged.pod, best)

    def _ineligibility(self, judged: Judged) -> NotEligible | None:
        pod, columns = judged.pod, self._columns
        node = columns.nominations.node_of(pod)
        slot = columns.index.find(node) if node else None
        if slot is None:
            return find_ineligibility(pod, None, ())
        obstacle = ColumnTrials(judged, columns).on(slot).find_obstacle()
        verdict = Verdict.SUCCESS if obstacle is None else obstacle.judgement.verdict
        return find_ineligibility(pod, verdict, columns.pods_on(node))

    def _outcome(self, pod: Pod, best: Candidate) -> Preemption:
        promised = self._columns.nominations.on(best.node)
        losers = tuple(each for each in promised if each.priority < pod.priority)
        is_new = not all(each.is_being_deleted for each in best.victims)
        return Preemption(
            node=best.node,
            victims=best.victims,
            violations=best.violations,
            losers=losers if is_new else (),
        )


@dataclass
class NodeSearch:
    """Among the nodes for one pod. Worth something until the next change to the columns."""

    judged: Judged
    columns: Columns
    freed: FreedNodes
    turn: int
    refusals: Counter[str] = field(default_factory=Counter)
    """What was said of nodes that were tried one by one, and how many that is about."""

    @property
    def _flags(self) -> Flags:
        return self.judged.flags

    @cached_property
    def _present(self) -> int:
        """All flags that some node has."""
        return reduce(or_, self.judged.tally, 0)

    @property
    def _index(self) -> NodeIndex:
        return self.columns.index

    @cached_property
    def _is_tried_alone(self) -> NDArray[np.bool_] | None:
        """Nodes, by slot, where more than resources is at stake; None: there are none."""
        if wants_company(self.judged.pod):
            return self._is_potential
        promised = self._promised_alone()
        if not self._present & CURABLE_BITS and not promised:
            return None
        is_alone: NDArray[np.bool_] = self._flags & np.uint64(CURABLE_BITS) != 0
        is_alone[promised] = True
        is_alone &= self._is_potential
        return is_alone

    def _promised_alone(self) -> list[int]:
        """The slots of promised nodes that are tried one by one."""
        pod, nominations = self.judged.pod, self.columns.nominations
        if not nominations.by_node:
            return []
        own = nominations.node_of(pod)
        return [
            slot
            for name in tried_alone(self.judged, self.columns)
            if (slot := self._index.find(name)) is not None
            and (name == own or nominations.counted_for(pod, name))
        ]

    @cached_property
    def _is_potential(self) -> NDArray[np.bool_]:
        """By slot, whether the first rule that speaks against the node might be appeased."""
        first = of_first_rule(self._flags)
        is_short = first & RESOURCES != 0
        is_potential: NDArray[np.bool_] = (first & np.uint64(CURABLE_BITS) != 0) | is_short
        is_potential &= ~(is_short & self._is_too_small())
        return is_potential

    def _is_too_small(self) -> NDArray[np.bool_]:
        """By slot, whether the pod asks for more than the empty node has."""
        demands = self.judged.node_fit.required
        rows = self.columns.resources.rows(slice(None))[ALL_ROWS][1:]
        found: NDArray[np.bool_] = np.logical_or.reduce(rows < demands.least_rest[1:], axis=0)
        for name, _ in scalar_flags(demands):
            table = self.columns.resources.scalars.get(name)
            found |= True if table is None else table.values[ALL] < demands.amounts[name]
        return found

    def best(self) -> Candidate | None:
        """The node where preemption hurts least."""
        equal = self._equal_by_resources()
        tried = self._try_alone(equal)
        if not tried:
            return None if not len(equal) else self._freed_at(self._at_turn(equal))
        if not len(equal):
            return best_of(tried).at_turn(self.turn)
        example = self._freed_at(int(equal[0]))
        best = best_of([*tried, example])
        if example not in best.equal:
            return best.at_turn(self.turn)
        others = [each for each in best.equal if each is not example]
        return self._among(equal, others)

    def _equal_by_resources(self) -> Slots:
        """The best of those that lack nothing but resources."""
        if (
            not self._present & BEYOND_NODES
            and 0 not in self.judged.tally
            and self._is_tried_alone is None
        ):
            return self.freed.best_of()
        is_excluded = (self._flags & BEYOND_RESOURCES != 0) | self.judged.is_feasible
        if self._is_tried_alone is not None:
            is_excluded |= self._is_tried_alone
        return self.freed.best_of(is_excluded)

    def _try_alone(self, equal: Slots) -> list[Candidate]:
        """Those that can be as good as the ones that lack nothing but resources."""
        if self._is_tried_alone is None:
            return []
        is_hopeful = self._flags & FIXED == 0
        if len(equal):
            is_hopeful &= self.freed.lower.bounds <= self.freed.limit_of(equal)
        limits = self.judged.profile.preemption
        share = limits.least_percentage * int(self._is_potential.sum()) // 100
        enough = max(share, limits.least_nodes)
        found = self._try_all(self._is_tried_alone & is_hopeful, enough)
        if not found and not len(equal):
            # Only to tell the user what speaks against these.
            self._try_all(self._is_tried_alone & ~is_hopeful, enough)
        return found

    def _try_all(self, mask: NDArray[np.bool_], enough: int) -> list[Candidate]:
        trials = ColumnTrials(self.judged, self.columns)
        by_name = self._index.by_name
        # Nodes without a less important pod need no trial.
        is_tried = mask & (self.freed.lower.counts > 0)
        self.refusals[NO_VICTIMS_SENTENCE] += int(np.count_nonzero((mask & ~is_tried)[by_name]))
        slots = by_name[is_tried[by_name]]
        found: list[Candidate] = []
        for slot in np.roll(slots, -(self.turn % max(len(slots), 1))).tolist():
            outcome = find_victims(trials.on(slot), self.columns.budgets)
            if not isinstance(outcome, Candidate):
                self.refusals.update(outcome.judgement.sentences)
                continue
            found.append(outcome)
            if len(found) >= enough and any(not each.violations for each in found):
                break
        return found

    def _freed_at(self, slot: int) -> Candidate:
        return self.freed.candidate(slot)

    def _at_turn(self, slots: Slots) -> int:
        if len(slots) == 1:
            return int(slots[0])
        place = self.turn % len(slots)
        return int(slots[np.argpartition(self._index.ranks[slots], place)[place]])

    def _among(self, equal: Slots, others: list[Candidate]) -> Candidate:
        """The one whose turn it is, by name, of nodes of both kinds."""
        by_slot = {self._slot_of(each): each for each in others}
        slot = self._at_turn(np.concatenate([equal, np.array([*by_slot], np.intp)]))
        return by_slot.get(slot) or self._freed_at(slot)

    def _slot_of(self, candidate: Candidate) -> int:
        slot = self._index.find(candidate.node)
        if slot is None:
            raise KeyError(f"node {candidate.node} does not exist")
        return slot

    def refusal_text(self) -> str:
        """Why no node could be freed."""
        is_left = self._is_potential
        if self._is_tried_alone is not None:
            is_left = is_left & ~self._is_tried_alone
        self.freed.work_out(np.flatnonzero(is_left))
        is_empty = self.freed.lower.counts == 0
        found = self.refusals + Counter(
            {NO_VICTIMS_SENTENCE: int(np.count_nonzero(is_left & is_empty))}
        )
        after = self.freed.flags | self._flags & BEYOND_RESOURCES
        left = after[is_left & ~is_empty]
        found += sentences(left, self.judged.node_fit.required.scalars)
        return counted_text(found, len(self._index), int(np.count_nonzero(self._is_potential)))


def wants_company(pod: Pod) -> bool:
    """Whether it goes only where certain other pods are near: that changes as they leave."""
    affinity = pod.spec.affinity
    return bool(affinity and affinity.pod_affinity and affinity.pod_affinity.required)
