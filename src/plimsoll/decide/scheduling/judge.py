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
from plimsoll.decide.scheduling.flags import AnyRule, Blocked, Flags, flags_of
from plimsoll.decide.scheduling.node_fit import NodeFit, NodeFits
from plimsoll.decide.scheduling.picking import NOT_FEASIBLE, RANK_BITS
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Judgement, Rule
from plimsoll.decide.scheduling.rules import (
    node_volume_limits,
    preferred_topology,
    volume_restrictions,
    volume_zone,
)
from plimsoll.decide.scheduling.rules.volume_binding import claims as pod_claims
from plimsoll.decide.scheduling.rules.volume_binding.claims import PodClaims
from plimsoll.decide.scheduling.rules.volume_binding.delayed_binding import DelayedBindingFit
from plimsoll.decide.scheduling.rules.volume_binding.filter import (
    VolumeBindingColumns,
    VolumeBindingFit,
)
from plimsoll.decide.scheduling.rules.volume_binding.score import DEFAULT_SHAPE, ScoringShape
from plimsoll.decide.scheduling.rules.volume_restrictions import SinglePodClaims
from plimsoll.decide.scheduling.rules.volume_zone import ZoneDemand

NO_CLAIMS = PodClaims((), ())
TAINT_WEIGHT, PREFERENCE_WEIGHT = 3, 2
BEST = 100


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
    """What the rules about volumes need to know of the pod."""

    claims: PodClaims
    single_pod: SinglePodClaims | None
    """None: no claim or disk of the pod excludes others."""
    zones: tuple[ZoneDemand, ...]


NO_BINDING = VolumeBindingFit(None)


@dataclass(frozen=True)
class Judged:
    """All by slot. Worth something until the next change to the columns."""

    pod: Pod
    node_fit: NodeFit
    volumes: VolumeBindingFit
    flags: Flags
    locality: NDArray[np.int64] | None = None
    """How near the data of bound volumes is, from 0 to 100; None: that makes no difference."""

    @property
    def delayed(self) -> DelayedBindingFit | None:
        """None: the pod has no delay-bound claims."""
        return self.volumes.delayed

    @cached_property
    def is_feasible(self) -> NDArray[np.bool_]:
        feasible: NDArray[np.bool_] = self.flags == 0
        return feasible

    def totals(self) -> NDArray[np.int64]:
        """The sum of all scores, as weighted by kube-scheduler, and of what it does not know. Only
        nodes that will do count."""
        total = self.node_fit.scores + TAINT_WEIGHT * BEST + self._preferences()
        if self.volumes.delayed is not None:
            total += self.volumes.delayed.scores
        return total

    def total_of(self, slot: int) -> int:
        preferred = np.asarray(self._preferences())
        total = int(self.node_fit.scores[slot]) + TAINT_WEIGHT * BEST
        total += int(preferred[slot]) if preferred.ndim else 0
        delayed = self.volumes.delayed
        return total + (0 if delayed is None else int(delayed.scores[slot]))

    def keys(self) -> NDArray[np.int64]:
        """By which nodes are sorted, the best last: the number of static matches where that
        counts, the score, then the name. NOT_FEASIBLE where a node will not do."""
        keys = self.node_fit.keys
        if self.volumes.delayed is not None:
            keys = keys + self.volumes.delayed.keys
        preferred = np.asarray(self._preferences())
        if preferred.ndim:
            keys = keys + (preferred << RANK_BITS)
        return np.where(self.is_feasible, keys, NOT_FEASIBLE)

    def _preferences(self) -> NDArray[np.int64] | int:
        """What taints take away, and preferences of the pod and of its volumes add."""
        total: NDArray[np.int64] | int = 0
        if (taints := self.node_fit.soft_taints) is not None:
            total = total - TAINT_WEIGHT * self._normalized(taints)
        if (preferred := self.node_fit.preferences) is not None:
            total = total + PREFERENCE_WEIGHT * self._normalized(preferred)
        if self.locality is not None:
            total = total + preferred_topology.WEIGHT * self.locality
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
        self.volume_binding = VolumeBindingColumns(
            columns, self.settings.policy, self.settings.shape
        )

    def judge(self, pod: Pod) -> Judged | Rejected:
        if not pod.spec.volumes:
            node_fit = self._node_fits.of(pod)
            return Judged(pod, node_fit, NO_BINDING, node_fit.flags)
        prepared = self.prepare(pod)
        if isinstance(prepared, Rejected):
            return prepared
        node_fit = self._node_fits.of(pod)
        volumes = self.volume_binding.judge(prepared.claims)
        flags = self._with_volumes(pod, prepared, node_fit.flags, volumes)
        return Judged(pod, node_fit, volumes, flags, self._locality(prepared))

    def _locality(self, prepared: PreparedPod) -> NDArray[np.int64] | None:
        if self.settings.policy is Policy.COMPATIBLE:
            return None
        return preferred_topology.scores(prepared.claims.bound, self.columns)

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
        )

    def _with_volumes(
        self, pod: Pod, prepared: PreparedPod, flags: Flags, volumes: VolumeBindingFit
    ) -> Flags:
        if volumes.flags is not None:
            flags = flags | volumes.flags
        found: list[tuple[Blocked, int]] = []
        if prepared.single_pod is not None:
            found += volume_restrictions.blocked(pod, prepared.single_pod, self.columns)
        if prepared.zones:
            found.append((Blocked.ZONE, volume_zone.blocked(prepared.zones, self.columns)))
        if found:
            flags = flags | flags_of(found, self.columns.index.size)
        full = node_volume_limits.blocked(pod, self.columns)
        return flags if full is None else flags | full


def _rejects(prepared: object) -> TypeGuard[Judgement]:
    return isinstance(prepared, Judgement) and prepared is not NOT_CONCERNED and not prepared.is_fit
