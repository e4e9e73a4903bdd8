"""The rule VolumeBinding: which volumes a pod would get on a node, or why it cannot go there."""

from dataclasses import dataclass, replace

import numpy as np

from plimsoll.api.core import Node
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked, Flags, flags_of
from plimsoll.decide.scheduling.placement.preference import PlacementOverride
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.reasons import (
    Finding,
    Judgement,
    Sentence,
    Undecided,
    unresolvable,
)
from plimsoll.decide.scheduling.rules.volume_binding import bound_claims
from plimsoll.decide.scheduling.rules.volume_binding.bound_claims import (
    find_bound_conflict,
    judge_bound,
)
from plimsoll.decide.scheduling.rules.volume_binding.claims import PodClaims
from plimsoll.decide.scheduling.rules.volume_binding.delayed_binding import (
    DelayedBinding,
    DelayedBindingFit,
    by_selected_node,
    judge_delayed,
    selected_elsewhere,
)
from plimsoll.decide.scheduling.rules.volume_binding.delayed_claims import DelayedClaims
from plimsoll.decide.scheduling.rules.volume_binding.joint_fit import JointFit
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import (
    DynamicProvision,
    judge_provisioning,
)
from plimsoll.decide.scheduling.rules.volume_binding.score import ScoringShape
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import (
    PodVolumes,
    match,
    with_candidate,
)
from plimsoll.decide.scheduling.view import ClusterView

UNREADABLE = np.uint64(Blocked.BOUND_UNREADABLE)
BOUND = np.uint64(Blocked.BOUND_AFFINITY | Blocked.BOUND_MISSING)
INVALID = np.uint64(Blocked.DELAYED_INVALID)


def judge(
    claims: PodClaims,
    node: Node,
    view: ClusterView,
    *,
    knows_attributes_classes: bool = True,
    joint: JointFit | None = None,
) -> PodVolumes | Judgement:
    """The volumes that the pod would get here, or why not: at most one finding about bound claims
    and one about delay-bound ones."""
    try:
        bound = find_bound_conflict(claims.bound, node, view)
        delayed = judge_delayed(
            claims.delayed, node, view, knows=knows_attributes_classes, joint=joint
        )
    except Undecided as undecided:
        return undecided.judgement
    findings = [finding for finding in (bound, delayed) if isinstance(finding, Finding)]
    if findings:
        return unresolvable(*sorted(findings, key=_place))
    return delayed if isinstance(delayed, PodVolumes) else PodVolumes()


def every_finding(
    claims: PodClaims, node: Node, view: ClusterView, *, joint: JointFit | None = None
) -> tuple[Finding, ...]:
    """Everything that speaks against the node, for people who want to know; `judge` stops at the
    first for bound and for delayed claims each. Empty if and only if `judge` finds volumes."""
    findings: list[Finding] = []
    by_node = by_selected_node(claims.delayed, node)
    try:
        bound = [judge_bound(claim, node, view) for claim in claims.bound]
        findings += filter(None, bound)
        findings += map(selected_elsewhere, by_node.elsewhere)
        matches = match(by_node.free, node, view, knows=True)
        provisions: list[DynamicProvision] = []
        for claim in (*by_node.here, *matches.unmatched):
            provision = judge_provisioning(claim, node, view)
            if isinstance(provision, Finding):
                findings.append(with_candidate(provision, claim, node, view))
            else:
                provisions.append(provision)
        # Volumes that fit alone may still not fit together, whatever else is wrong.
        if joint is not None and (together := joint.judge(provisions, node, view)):
            findings.append(together)
    except Undecided as undecided:
        findings += undecided.judgement.findings
    return tuple(findings)


def _place(finding: Finding) -> int:
    """In the order in which kube-scheduler lists its sentences."""
    return list(Sentence).index(Sentence(finding.sentence))


# All nodes at once


@dataclass(frozen=True, slots=True)
class VolumeBindingFit:
    """By slot."""

    flags: Flags | None
    """None: every node will do."""
    delayed_claims: DelayedClaims | None = None
    delayed: DelayedBindingFit | None = None
    """None: the pod has no delay-bound claims."""


class VolumeBindingColumns:
    """The rule, with what it remembers between pods."""

    def __init__(self, columns: Columns, policy: Policy, shape: ScoringShape | None) -> None:
        self._columns = columns
        self.delayed = DelayedBinding(columns, policy, shape)
        self.bind = self.delayed.static_matching.bind
        """What is to be done for delay-bound claims on a node that passed."""

    def judge(
        self, claims: PodClaims, override: PlacementOverride | None = None
    ) -> VolumeBindingFit:
        """`override` is what the pod says about its placement."""
        found = [*bound_claims.blocked(claims.bound, self._columns)] if claims.bound else []
        bound = flags_of(found, self._columns.index.size) if found else None
        if not claims.delayed:
            return VolumeBindingFit(bound)
        delayed_claims = DelayedClaims.of(claims.delayed, self._columns.volumes)
        if override is not None:
            delayed_claims = replace(delayed_claims, override=override)
        delayed = self.delayed.judge(delayed_claims)
        flags = delayed.flags if delayed.refuses else None
        if bound is not None:
            flags = bound if flags is None else _without_moot(bound | flags, flags)
        return VolumeBindingFit(flags, delayed_claims, delayed)


def _without_moot(flags: Flags, delayed: Flags) -> Flags:
    """Where a volume or claim cannot be read nothing else is known about the node's volumes."""
    flags = np.where(flags & UNREADABLE, flags & ~delayed, flags)
    return np.where(flags & INVALID, flags & ~BOUND, flags)
