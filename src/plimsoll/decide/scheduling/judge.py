"""One pod on all nodes: every reason against every node, and how good the others are.

Reasons are bits per node, zero where nothing speaks against it. A pod that cannot be placed
anywhere, whatever the nodes are like, is rejected with the findings of the rule that says so.
"""

from dataclasses import dataclass, field, replace
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked, Flags, NodeRule, Tally, flags_of, tally_of
from plimsoll.decide.scheduling.node_fit import NodeFit, NodeFits
from plimsoll.decide.scheduling.picking import NOT_FEASIBLE, RANK_BITS
from plimsoll.decide.scheduling.placement.preference import PlacementOverride, find_override
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.profiles.profile import DEFAULT_PROFILE, Profile, SchedulerPlugin
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Judgement, Rule
from plimsoll.decide.scheduling.rule_fit import (
    BlockedNodes,
    ColumnRule,
    Rejected,
    RuleScore,
    WeighedScore,
    column_rules,
)
from plimsoll.decide.scheduling.rules import (
    node_affinity,
    node_volume_limits,
    preferred_topology,
    volume_restrictions,
    volume_zone,
)
from plimsoll.decide.scheduling.rules.dynamic_resources import DynamicResourceColumns
from plimsoll.decide.scheduling.rules.image_locality import ImageLocalityColumns
from plimsoll.decide.scheduling.rules.inter_pod_affinity.all_nodes import InterPodAffinityColumns
from plimsoll.decide.scheduling.rules.narrowing import Narrowing, narrow
from plimsoll.decide.scheduling.rules.node_declared_features import FeatureColumns
from plimsoll.decide.scheduling.rules.node_ports import NodePortsColumns
from plimsoll.decide.scheduling.rules.pod_topology_spread.columns import TopologySpreadColumns
from plimsoll.decide.scheduling.rules.pod_topology_spread.default_constraints import defaults_of
from plimsoll.decide.scheduling.rules.pod_topology_spread.filter import find_unreadable_preferences
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
from plimsoll.decide.scheduling.view import ClusterView

NO_CLAIMS = PodClaims((), ())
BEST = 100


@dataclass(frozen=True, slots=True)
class KernelSettings:
    policy: Policy = Policy.DEFAULT
    shape: ScoringShape | None = DEFAULT_SHAPE
    """How good it is to fill storage; None: it does not matter."""
    profile: Profile = DEFAULT_PROFILE


@dataclass(frozen=True, slots=True)
class PreparedPod:
    """What the rules about volumes need to know of the pod."""

    claims: PodClaims
    single_pod: SinglePodClaims | None
    """None: no claim or disk of the pod excludes others."""
    zones: tuple[ZoneDemand, ...]


NO_BINDING = VolumeBindingFit(None)


@dataclass(slots=True)
class Judged:
    """All by slot. Worth something until the next change to the columns."""

    pod: Pod
    node_fit: NodeFit
    volumes: VolumeBindingFit
    first: Flags
    """By the rules about nodes and volumes, to which `blocked` adds what other rules say."""
    profile: Profile = DEFAULT_PROFILE
    locality: NDArray[np.int64] | None = None
    """How near the data of bound volumes is, from 0 to 100; None: that makes no difference."""
    scores: tuple[RuleScore, ...] = ()
    """By the rules about other pods and images, and by what classes and the pod say about the
    placement of volumes."""
    narrowing: Narrowing | None = None
    """None: every node is looked at."""
    blocked: tuple[BlockedNodes, ...] = ()
    """By the rules about other pods and what nodes declare."""

    is_feasible: NDArray[np.bool_] = field(init=False)
    _flags: Flags | None = field(default=None, init=False)
    _tally: Tally | None = field(default=None, init=False)
    _added: NDArray[np.int64] | int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.is_feasible = self.node_fit.is_feasible
        if self._has_no_more_flags:
            return
        is_of_nodes = self.first is self.node_fit.flags
        self.is_feasible = self.is_feasible.copy() if is_of_nodes else self.first == 0
        for each in self.blocked:
            each.leave_out(self.is_feasible)

    @property
    def flags(self) -> Flags:
        """Every reason against every node."""
        if self._flags is None:
            self._flags = self.first
            for each in self.blocked:
                self._flags = self._flags | each.find_flags()
        return self._flags

    @property
    def delayed(self) -> DelayedBindingFit | None:
        """None: the pod has no delay-bound claims."""
        return self.volumes.delayed

    @property
    def tally(self) -> Tally:
        """How many slots have which flags."""
        if self._has_no_more_flags:
            return self.node_fit.tally()
        if self._tally is None:
            self._tally = tally_of(self.flags)
        return self._tally

    @property
    def _has_no_more_flags(self) -> bool:
        """Whether no rule speaks against a node but those that `NodeFit` has asked."""
        return self.first is self.node_fit.flags and not self.blocked

    def totals(self) -> NDArray[np.int64]:
        """The sum of all scores, as weighted by kube-scheduler, and of what it does not know. Only
        nodes that will do count."""
        taints = self.profile.weights[SchedulerPlugin.TAINT_TOLERATION]
        total = self.node_fit.scores() + taints * BEST + self._preferences
        if self.volumes.delayed is not None:
            total += (
                self.profile.weights[SchedulerPlugin.VOLUME_BINDING] * self.volumes.delayed.scores
            )
        return total

    def total_of(self, slot: int) -> int:
        preferred = self._preferences
        taints = self.profile.weights[SchedulerPlugin.TAINT_TOLERATION]
        kept = self.node_fit
        total = (kept.keys.item(slot) + kept.ranks.item(slot) >> RANK_BITS) + taints * BEST
        total += 0 if isinstance(preferred, int) else int(preferred[slot])
        if (delayed := self.volumes.delayed) is None:
            return total
        return total + self.profile.weights[SchedulerPlugin.VOLUME_BINDING] * int(
            delayed.scores[slot]
        )

    def keys(self) -> NDArray[np.int64]:
        """By which nodes are sorted, the best last: the number of static matches where that
        counts, the score, then the name. Those of nodes that will not do are hopeless."""
        keys = self.node_fit.keys
        if (delayed := self.volumes.delayed) is not None:
            # The keys hold the score once.
            more = self.profile.weights[SchedulerPlugin.VOLUME_BINDING] - 1
            keys = keys + delayed.keys
            keys = keys + more * (delayed.scores << RANK_BITS) if more else keys
        preferred = self._preferences
        if not isinstance(preferred, int):
            shifted = preferred << RANK_BITS
            shifted += keys
            keys = shifted
        # What a preference makes of nodes that were left out may be any number.
        is_bounded = delayed is None or delayed.placement is None
        if is_bounded and self._has_no_more_flags:
            return keys
        return np.where(self.is_feasible, keys, NOT_FEASIBLE)

    @property
    def _preferences(self) -> NDArray[np.int64] | int:
        """What taints take away, and preferences of the pod and of its volumes add."""
        if self._added is None:
            parts = self._preference_parts()
            self._added = sum(parts[1:], parts[0]) if parts else 0
        return self._added

    def _preference_parts(self) -> list[NDArray[np.int64]]:
        parts = []
        if (taints := self.node_fit.soft_taints) is not None:
            weight = self.profile.weights[SchedulerPlugin.TAINT_TOLERATION]
            parts.append(-weight * self._normalized(taints))
        if (preferred := self.node_fit.preferences) is not None:
            weight = self.profile.weights[SchedulerPlugin.NODE_AFFINITY]
            parts.append(weight * self._normalized(preferred))
        if self.locality is not None:
            parts.append(preferred_topology.WEIGHT * self.locality)
        parts += [score.weighted(self.is_feasible) for score in self.scores]
        return parts

    def _normalized(self, raw: NDArray[np.int64]) -> NDArray[np.int64]:
        highest = max(int((raw * self.is_feasible).max(initial=0)), 1)
        return raw * BEST // highest


class Judge:
    """With what it remembers between pods; belongs to one set of columns."""

    def __init__(
        self,
        columns: Columns,
        settings: KernelSettings | None = None,
        volume_binding: VolumeBindingColumns | None = None,
    ) -> None:
        """`volume_binding` may be shared by judges of one policy and shape."""
        self.columns = columns
        self.settings = settings or KernelSettings()
        self.profile = profile = self.settings.profile
        self._ignored = np.uint64(profile.ignored_bits)
        self._narrows = profile.asks(NodeRule.NODE_NAME) and profile.asks(NodeRule.NODE_AFFINITY)
        self._node_fits = NodeFits(columns, profile)
        spread, near = (
            defaults_of(profile.spread),
            InterPodAffinityColumns(columns, profile.affinity),
        )
        rules: tuple[tuple[SchedulerPlugin, ColumnRule], ...] = (
            (SchedulerPlugin.NODE_PORTS, NodePortsColumns(columns)),
            (SchedulerPlugin.POD_TOPOLOGY_SPREAD, TopologySpreadColumns(columns, spread)),
            (SchedulerPlugin.INTER_POD_AFFINITY, near),
            (SchedulerPlugin.DYNAMIC_RESOURCES, DynamicResourceColumns(columns)),
            (SchedulerPlugin.IMAGE_LOCALITY, ImageLocalityColumns(columns)),
            (SchedulerPlugin.NODE_DECLARED_FEATURES, FeatureColumns(columns)),
        )
        self._column_rules = column_rules(profile, rules)
        """In kube-scheduler's order."""
        self.volume_binding = volume_binding or VolumeBindingColumns(
            columns, self.settings.policy, self.settings.shape
        )

    def judge(self, pod: Pod) -> Judged | Rejected:
        narrowing = narrow(pod) if self._narrows else None
        if isinstance(narrowing, Rejected):
            return narrowing
        judged = self._judge_volumes(pod)
        return judged if isinstance(judged, Rejected) else self._with_rules(judged, narrowing)

    def _judge_volumes(self, pod: Pod) -> Judged | Rejected:
        if not pod.spec.volumes:
            node_fit = self._node_fits.of(pod)
            return Judged(pod, node_fit, NO_BINDING, node_fit.flags, self.profile)
        prepared = prepare_volumes(pod, self.columns, self.profile)
        if isinstance(prepared, Rejected):
            return prepared
        node_fit = self._node_fits.of(pod)
        volumes = self.volume_binding.judge(prepared.claims, self._override(pod))
        flags = self._with_volumes(pod, prepared, node_fit.flags, volumes)
        judged = Judged(pod, node_fit, volumes, flags, self.profile, self._locality(prepared))
        if volumes.delayed is None or volumes.delayed.placement is None:
            return judged
        score: RuleScore = volumes.delayed.placement
        weight = self.profile.weights[SchedulerPlugin.VOLUME_BINDING]
        return replace(judged, scores=(score if weight == 1 else WeighedScore(score, weight, 1),))

    def _override(self, pod: Pod) -> PlacementOverride | None:
        annotations = pod.metadata.annotations
        if self.settings.policy is Policy.COMPATIBLE or not annotations:
            return None
        return find_override(annotations)

    def _with_rules(self, judged: Judged, narrowing: Narrowing | None) -> Judged | Rejected:
        pod, flags, scores = judged.pod, judged.first, judged.scores
        blocked: tuple[BlockedNodes, ...] = ()
        for rule in self._column_rules:
            fit = rule.judge(pod)
            if fit is None:
                continue
            if isinstance(fit, Rejected):
                return fit
            if fit.blocked is not None:
                blocked = (*blocked, fit.blocked)
            if fit.score is not None:
                scores = (*scores, fit.score)
        if self._ignored and flags is not judged.node_fit.flags:
            flags = flags & ~self._ignored
        if flags is judged.first and not (blocked or narrowing) and scores is judged.scores:
            return judged
        # `replace` takes as long as a rule.
        node_fit, volumes, near = judged.node_fit, judged.volumes, judged.locality
        return Judged(pod, node_fit, volumes, flags, self.profile, near, scores, narrowing, blocked)

    def _locality(self, prepared: PreparedPod) -> NDArray[np.int64] | None:
        if self.settings.policy is Policy.COMPATIBLE or not prepared.claims.bound:
            return None
        return preferred_topology.scores(prepared.claims.bound, self.columns)

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


def find_scoring_error(pod: Pod) -> Rejected | None:
    """Why nodes cannot be compared, by a policy that does without no preference."""
    if unreadable := node_affinity.find_unreadable(pod):
        return Rejected(NodeRule.NODE_AFFINITY, unreadable)
    if unreadable := find_unreadable_preferences(pod):
        return Rejected(NodeRule.SPREAD, unreadable)
    return None


def prepare_volumes(
    pod: Pod, view: ClusterView, profile: Profile = DEFAULT_PROFILE
) -> PreparedPod | Rejected:
    """As the rules about volumes read it."""
    single_pod = volume_restrictions.prepare(pod, view)
    if _rejects(single_pod) and profile.asks(Rule.VOLUME_RESTRICTIONS):
        return Rejected(Rule.VOLUME_RESTRICTIONS, single_pod)
    claims = pod_claims.prepare(pod, view)
    if _rejects(claims):
        return Rejected(Rule.VOLUME_BINDING, claims)
    found = claims if isinstance(claims, PodClaims) else NO_CLAIMS
    # Of claims without a volume VolumeZone says nothing that VolumeBinding has not said.
    demands = volume_zone.prepare(pod, view) if found.bound else NOT_CONCERNED
    if _rejects(demands) and profile.asks(Rule.VOLUME_ZONE):
        return Rejected(Rule.VOLUME_ZONE, demands)
    return PreparedPod(
        found,
        single_pod if isinstance(single_pod, SinglePodClaims) else None,
        demands if isinstance(demands, tuple) else (),
    )


def _rejects(prepared: object) -> TypeGuard[Judgement]:
    return isinstance(prepared, Judgement) and prepared is not NOT_CONCERNED and not prepared.is_fit
