"""One pod on all nodes: every reason against every node, and how good the others are.

Reasons are bits per node, zero where nothing speaks against it. A pod that cannot be placed
anywhere, whatever the nodes are like, is rejected with the findings of the rule that says so.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import mask_of
from plimsoll.decide.scheduling.flags import AnyRule, Blocked, Flags, flagged
from plimsoll.decide.scheduling.node_fit import NodeFit, NodeFits, sort_keys
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Judgement, Rule
from plimsoll.decide.scheduling.rules import (
    node_volume_limits as volume_limits,
    node_volume_limits_columns as limits,
    volume_restrictions,
    volume_zone,
    volume_zone_columns as zones,
)
from plimsoll.decide.scheduling.rules.volume_binding import (
    bound_claims as bound,
    claims as pod_claims,
)
from plimsoll.decide.scheduling.rules.volume_binding.claims import PodClaims
from plimsoll.decide.scheduling.rules.volume_binding.delayed import (
    DelayedBinding,
    DelayedBindingFit,
)
from plimsoll.decide.scheduling.rules.volume_binding.delayed_claims import DelayedClaims, Policy
from plimsoll.decide.scheduling.rules.volume_binding.score import DEFAULT_SHAPE, ScoringShape
from plimsoll.decide.scheduling.rules.volume_restrictions import SinglePodClaims
from plimsoll.decide.scheduling.rules.volume_zone import ZoneDemand

NO_CLAIMS = PodClaims((), ())
UNREADABLE = np.uint64(Blocked.BOUND_UNREADABLE)
BOUND = np.uint64(Blocked.BOUND_AFFINITY | Blocked.BOUND_MISSING)
INVALID = np.uint64(Blocked.DELAYED_INVALID)
TAINT_WEIGHT, PREFERENCE_WEIGHT = 3, 2
BEST = 100
NOT_FEASIBLE = -(2**62)


@dataclass(frozen=True, slots=True)
class KernelSettings:
    policy: Policy = Policy.DEFAULT
    shape: ScoringShape | None = DEFAULT_SHAPE
    """How good it is to fill storage; None: it does not matter."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """No node will do, whatever it is like."""

    rule: AnyRule
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class PreparedPod:
    """What the rules about volumes need to know of the pod; None: it does not concern them."""

    claims: PodClaims
    single_pod: SinglePodClaims | None
    zones: tuple[ZoneDemand, ...]
    is_limited: bool


NO_VOLUMES = PreparedPod(NO_CLAIMS, None, (), is_limited=False)


@dataclass(frozen=True)
class Judged:
    """All by slot. Worth something until the next change to the columns."""

    pod: Pod
    prepared: PreparedPod
    node_fit: NodeFit
    delayed_claims: DelayedClaims | None
    delayed: DelayedBindingFit | None
    flags: Flags

    @cached_property
    def is_feasible(self) -> NDArray[np.bool_]:
        feasible: NDArray[np.bool_] = self.flags == 0
        return feasible

    def totals(self) -> NDArray[np.int64]:
        """The sum of all scores, as weighted by kube-scheduler. Only nodes that will do count."""
        total = self.node_fit.scores + TAINT_WEIGHT * BEST + self._wishes()
        if self.delayed is not None:
            total += self.delayed.scores
        return total

    def total_of(self, slot: int) -> int:
        wishes = np.asarray(self._wishes())
        total = int(self.node_fit.scores[slot]) + TAINT_WEIGHT * BEST
        total += int(wishes[slot]) if wishes.ndim else 0
        return total + (int(self.delayed.scores[slot]) if self.delayed is not None else 0)

    def keys(self) -> NDArray[np.int64]:
        """By which nodes are sorted, the best last: the number of static matches where that
        counts, the score, then the name. NOT_FEASIBLE where a node will not do."""
        keys = self.node_fit.keys
        if self.delayed is not None:
            keys = keys + self.delayed.keys
        if self.node_fit.soft_taints is not None or self.node_fit.preferences is not None:
            keys = keys + sort_keys(np.asarray(self._wishes()))
        return np.where(self.is_feasible, keys, NOT_FEASIBLE)

    def _wishes(self) -> NDArray[np.int64] | int:
        """What taints take away and preferences add."""
        total: NDArray[np.int64] | int = 0
        if (taints := self.node_fit.soft_taints) is not None:
            total = total - TAINT_WEIGHT * self._normalized(taints)
        if (wishes := self.node_fit.preferences) is not None:
            total = total + PREFERENCE_WEIGHT * self._normalized(wishes)
        return total

    def _normalized(self, raw: NDArray[np.int64]) -> NDArray[np.int64]:
        highest = max(int((raw * self.is_feasible).max(initial=0)), 1)
        return raw * BEST // highest


class Judge:
    """With what it remembers between pods; belongs to one set of columns."""

    def __init__(self, columns: Columns, settings: KernelSettings | None = None) -> None:
        self.columns = columns
        self.settings = settings or KernelSettings()
        self._node_fits = NodeFits(columns)
        self.delayed = DelayedBinding(columns, self.settings.policy, self.settings.shape)

    def judge(self, pod: Pod) -> Judged | Rejected:
        prepared = self.prepare(pod) if pod.spec.volumes else NO_VOLUMES
        if isinstance(prepared, Rejected):
            return prepared
        node_fit = self._node_fits.of(pod)
        delayed_claims = delayed = None
        if prepared.claims.delayed:
            delayed_claims = DelayedClaims.of(prepared.claims.delayed, self.columns.volumes)
            delayed = self.delayed.judge(delayed_claims)
        flags = node_fit.flags
        if prepared is not NO_VOLUMES:
            flags = self._with_volumes(pod, prepared, flags, delayed)
        return Judged(pod, prepared, node_fit, delayed_claims, delayed, flags)

    def prepare(self, pod: Pod) -> PreparedPod | Rejected:
        single_pod = volume_restrictions.prepare(pod, self.columns)
        if _rejects(single_pod):
            return Rejected(Rule.VOLUME_RESTRICTIONS, single_pod)
        claims = pod_claims.prepare(pod, self.columns)
        if _rejects(claims):
            return Rejected(Rule.VOLUME_BINDING, claims)
        demands = volume_zone.prepare(pod, self.columns)
        if _rejects(demands):
            return Rejected(Rule.VOLUME_ZONE, demands)
        return PreparedPod(
            claims if isinstance(claims, PodClaims) else NO_CLAIMS,
            single_pod if isinstance(single_pod, SinglePodClaims) else None,
            demands if isinstance(demands, tuple) else (),
            is_limited=volume_limits.prepare(pod) is not NOT_CONCERNED,
        )

    def _with_volumes(
        self, pod: Pod, prepared: PreparedPod, flags: Flags, delayed: DelayedBindingFit | None
    ) -> Flags:
        columns, size = self.columns, self.columns.index.size
        parts = list(bound.blocked(prepared.claims.bound, columns))
        has_bound_flags = bool(parts)
        if prepared.single_pod is not None:
            parts += limits.restricted(pod, prepared.single_pod, columns)
        if prepared.zones:
            outside = zones.outside(prepared.zones, columns.labels, columns.index.alive)
            parts.append((Blocked.ZONE, outside))
        if delayed is not None:
            flags = flags | delayed.flags
        for flag, bits in parts:
            if bits:
                flags = flags | flagged(mask_of(bits, size), flag)
        if has_bound_flags and delayed is not None:
            flags = _without_moot(flags, delayed)
        if prepared.is_limited:
            full = limits.Limits(pod, columns).blocked()
            flags = flags if full is None else flags | full
        return flags


def _without_moot(flags: Flags, delayed: DelayedBindingFit) -> Flags:
    """Where a volume or claim cannot be read nothing else is known about the node's volumes."""
    flags = np.where(flags & UNREADABLE, flags & ~delayed.flags, flags)
    return np.where(flags & INVALID, flags & ~BOUND, flags)


def _rejects(prepared: object) -> TypeGuard[Judgement]:
    return isinstance(prepared, Judgement) and not prepared.is_fit
