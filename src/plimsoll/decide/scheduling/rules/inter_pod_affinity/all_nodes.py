"""The rule and its score over all nodes at once.

What the pod says is answered by counts of the pods that match its selectors; what other pods say of
it is kept by term. Either is summed up by place, once for each label that places are told apart by.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.domains import NO_DOMAIN
from plimsoll.decide.scheduling.columns.nodes import Slots
from plimsoll.decide.scheduling.columns.pods.counts import CountedPods
from plimsoll.decide.scheduling.flags import Blocked, Flags, NodeRule, no_flags
from plimsoll.decide.scheduling.pod_terms import PodTerms, affinity_fingerprint, match_all
from plimsoll.decide.scheduling.profiles.profile import DEFAULT_PROFILE, AffinityArguments
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Judgement
from plimsoll.decide.scheduling.rule_fit import BlockedNodes, Rejected, RuleFit
from plimsoll.decide.scheduling.rules.inter_pod_affinity.filter import (
    PodAffinityState,
    PodsByPlace,
    read_terms,
)
from plimsoll.decide.scheduling.rules.inter_pod_affinity.score import PodAffinityScore

KEPT_TERMS = 1024

ByKey = dict[str, NDArray[np.int64]]
"""Numbers by slot, for each label that places are told apart by. Not to be written to."""
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class AskedPods:
    """The terms of a pod that is to be scheduled, and whom they ask the columns for."""

    terms: PodTerms
    near: CountedPods | None
    """Those that match every term of its affinity; None: it has none."""
    near_keys: tuple[str, ...]
    far: tuple[tuple[str, CountedPods], ...]
    weighted: tuple[tuple[str, int, CountedPods], ...]

    @classmethod
    def of(cls, terms: PodTerms) -> Self:
        near = tuple(term.pods for term in terms.affinity)
        weighted = [(each.weight, each.term) for each in terms.preferred]
        weighted += [(-each.weight, each.term) for each in terms.avoided]
        return cls(
            terms,
            CountedPods(near) if near else None,
            tuple(dict.fromkeys(term.topology_key for term in terms.affinity)),
            tuple((term.topology_key, CountedPods((term.pods,))) for term in terms.anti_affinity),
            tuple((term.topology_key, w, CountedPods((term.pods,))) for w, term in weighted),
        )


NOTHING_ASKED = AskedPods.of(PodTerms())


class InterPodAffinityColumns:
    def __init__(
        self, columns: Columns, arguments: AffinityArguments = DEFAULT_PROFILE.affinity
    ) -> None:
        self._columns = columns
        self._arguments = arguments
        self._read: KeptResults[bytes, AskedPods] = KeptResults(KEPT_TERMS)

    def judge(self, pod: Pod) -> RuleFit | Rejected | None:
        asked = self._asked(pod)
        if isinstance(asked, Judgement):
            return Rejected(NodeRule.POD_AFFINITY, asked)
        terms = self._columns.pod_terms
        if asked is NOTHING_ASKED and not terms.excluding.counts and not terms.weighted.counts:
            return None
        blocked, score = self._blocked(pod, asked), self._score(pod, asked)
        return None if blocked is None and score is None else RuleFit(blocked, score)

    def prepare(self, pod: Pod) -> PodAffinityState | Judgement:
        """What the plain rule prepares, without a look at every pod."""
        asked = self._asked(pod)
        if isinstance(asked, Judgement):
            return asked
        near: ByKey = {}
        if asked.near is not None:
            counts = self._columns.pod_counts.of(asked.near)
            for term in asked.terms.affinity:
                _add(near, term.topology_key, counts)
        state = PodAffinityState(
            pod=pod,
            terms=asked.terms,
            view=self._columns,
            wanted=self._by_place(near),
            unwanted=self._by_place(self._far(asked)),
            excluding=self._by_place(self._excluding(pod)),
        )
        return state if state.is_concerned else NOT_CONCERNED

    def _asked(self, pod: Pod) -> AskedPods | Judgement:
        fingerprint = affinity_fingerprint(pod) if pod.spec.affinity else None
        if fingerprint is None:
            return NOTHING_ASKED
        if kept := self._read.get(fingerprint):
            return kept
        terms = read_terms(pod)
        if isinstance(terms, Judgement):
            return terms
        return self._read.keep(fingerprint, AskedPods.of(terms))

    def _blocked(self, pod: Pod, asked: AskedPods) -> BlockedNodes | None:
        """Only nodes are looked at that have pods which matter."""
        at: list[Slots] = []
        masks: list[Mask] = []
        for key, slots in self._unwelcome(pod, asked):
            domains = self._columns.domains.of(key)
            if domains.are_single:
                at.append(domains.labelled(slots))
            else:
                masks.append(domains.sharing(slots))
        if asked.near is not None:
            masks.append(self._unwanted(pod, asked, asked.near))
        return BlockedNodes(at, masks, partial(self._flags, pod, asked)) if at or masks else None

    def _unwelcome(self, pod: Pod, asked: AskedPods) -> Iterator[tuple[str, Slots]]:
        """Where pods are that the pod wants to be far from, or that want to be far from it, and by
        which label."""
        columns = self._columns
        for key, counted in asked.far:
            column = columns.pod_counts.column_of(counted)
            if column.by_slot:
                yield key, column.slots()
        if columns.pod_terms.excluding.counts:
            labels = columns.namespace_labels(pod.namespace) or {}
            for term, counts in columns.pod_terms.excluding.about(pod, labels):
                yield term.topology_key, counts.slots()

    def _flags(self, pod: Pod, asked: AskedPods) -> Flags:
        """By slot, the first of three reasons."""
        found = no_flags(self._columns.index.size)
        for flag, mask in reversed([*self._reasons(pod, asked)]):
            np.copyto(found, np.uint64(flag), where=mask)
        return found

    def _reasons(self, pod: Pod, asked: AskedPods) -> Iterator[tuple[Blocked, Mask]]:
        if asked.near is not None:
            yield Blocked.POD_AFFINITY, self._unwanted(pod, asked, asked.near)
        for flag, by_key in (
            (Blocked.POD_ANTI_AFFINITY, self._far(asked)),
            (Blocked.EXISTING_ANTI_AFFINITY, self._excluding(pod)),
        ):
            for key, values in by_key.items():
                yield flag, self._columns.domains.of(key).having(values)

    def _unwanted(self, pod: Pod, asked: AskedPods, near: CountedPods) -> Mask:
        """The nodes that are not near the pods that the pod wants to be near to."""
        counts = self._columns.pod_counts.of(near)
        domains = [self._columns.domains.of(key) for key in asked.near_keys]
        is_near = [each.having(counts) for each in domains]
        labels = self._columns.namespace_labels(pod.namespace)
        if not any(each.any() for each in is_near) and match_all(near.selectors, pod, labels):
            return _any_of([each.numbers == NO_DOMAIN for each in domains])
        return _any_of([~each for each in is_near])

    def _far(self, asked: AskedPods) -> ByKey:
        found: ByKey = {}
        for key, counted in asked.far:
            _add(found, key, self._columns.pod_counts.of(counted))
        return found

    def _excluding(self, pod: Pod) -> ByKey:
        if not self._columns.pod_terms.excluding.counts:
            return {}
        labels = self._columns.namespace_labels(pod.namespace) or {}
        found: ByKey = {}
        for term, counts in self._columns.pod_terms.excluding.about(pod, labels):
            _add(found, term.topology_key, counts.values)
        return found

    def _score(self, pod: Pod, asked: AskedPods) -> PodAffinityScore | None:
        others = self._columns.pod_terms.weighted
        if not asked.weighted and (
            not others.counts or self._arguments.ignores_preferences_of_others
        ):
            return None
        labels = self._columns.namespace_labels(pod.namespace) or {}
        found: ByKey = {}
        for key, weight, counted in asked.weighted:
            _add(found, key, weight * self._columns.pod_counts.of(counted))
        for weighted, counts in others.about(pod, labels):
            weight = self._arguments.hard_weight if weighted.is_required else weighted.weight
            _add(found, weighted.term.topology_key, weight * counts.values)
        return PodAffinityScore(self._summed(found)) if found else None

    def _summed(self, by_key: ByKey) -> NDArray[np.int64]:
        """By slot, the sum over all places that the node is in."""
        total = np.zeros(self._columns.index.size, np.int64)
        for key, values in by_key.items():
            total += self._columns.domains.of(key).totals(values)
        return total

    def _by_place(self, by_key: ByKey) -> PodsByPlace:
        return {
            (key, value): number
            for key, values in by_key.items()
            for value, number in self._columns.domains.of(key).by_value(values).items()
        }


def _add(found: ByKey, key: str, values: NDArray[np.int64]) -> None:
    found[key] = found[key] + values if key in found else values


def _any_of(masks: list[Mask]) -> Mask:
    found: Mask = np.logical_or.reduce(masks)
    return found
