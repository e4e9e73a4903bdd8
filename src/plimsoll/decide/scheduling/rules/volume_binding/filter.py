"""Which volumes a pod would get on a node: those it has, those that exist, those to be made.

Delay-bound claims take existing volumes before new ones, smallest claim first, each the smallest
volume that suits. That is greedy, as kube-scheduler is: where a claim takes the volume that only
another could have used, no second try is made.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.claims.match import (
    Mismatch,
    Search,
    find_match,
    is_reachable,
    mismatches,
    size_of,
)
from plimsoll.decide.csi.in_tree import seen_from_node
from plimsoll.decide.scheduling.reasons import (
    Finding,
    Judgement,
    Reason,
    SeenObject,
    Sentence,
    Undecided,
    failed,
    seen_volume,
    unresolvable,
)
from plimsoll.decide.scheduling.rules.volume_binding.claims import PodClaims
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import (
    DynamicProvision,
    judge_provisioning,
)
from plimsoll.decide.scheduling.rules.volume_binding.score import (
    DEFAULT_SHAPE,
    ScoringShape,
    dynamic_usage,
    score_usage,
    static_usage,
)
from plimsoll.decide.scheduling.view import ClusterView


@dataclass(frozen=True, slots=True)
class StaticBinding:
    """An existing volume is to be bound to the claim."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """What is to be done for a pod's delay-bound claims if it goes to some node."""

    static: tuple[StaticBinding, ...] = ()
    provisions: tuple[DynamicProvision, ...] = ()


class _BySelectedNode(NamedTuple):
    """Delay-bound claims by the node that they already name. One that names a node gets a new
    volume there, whatever volumes exist."""

    here: list[PersistentVolumeClaim]
    elsewhere: list[PersistentVolumeClaim]
    free: list[PersistentVolumeClaim]


class _Matches(NamedTuple):
    static: tuple[StaticBinding, ...]
    unmatched: tuple[PersistentVolumeClaim, ...]


def judge(
    claims: PodClaims, node: Node, view: ClusterView, *, knows_attributes_classes: bool = True
) -> PodVolumes | Judgement:
    """The volumes that the pod would get here, or why not: at most one finding about bound claims
    and one about delay-bound ones."""
    try:
        bound = find_bound_conflict(claims.bound, node, view)
        delayed = _judge_delayed(claims.delayed, node, view, knows=knows_attributes_classes)
    except Undecided as undecided:
        return undecided.judgement
    findings = [finding for finding in (bound, delayed) if isinstance(finding, Finding)]
    if findings:
        return unresolvable(*sorted(findings, key=_place))
    return delayed if isinstance(delayed, PodVolumes) else PodVolumes()


def every_finding(claims: PodClaims, node: Node, view: ClusterView) -> tuple[Finding, ...]:
    """Everything that speaks against the node, for people who want to know; `judge` stops at the
    first for bound and for delayed claims each. Empty if and only if `judge` finds volumes."""
    findings: list[Finding] = []
    by_node = _by_selected_node(claims.delayed, node)
    try:
        bound = [judge_bound(claim, node, view) for claim in claims.bound]
        findings += filter(None, bound)
        findings += map(selected_elsewhere, by_node.elsewhere)
        matches = _match(by_node.free, node, view, knows=True)
        for claim in (*by_node.here, *matches.unmatched):
            provision = judge_provisioning(claim, node, view)
            if isinstance(provision, Finding):
                findings.append(_with_candidate(provision, claim, node, view))
    except Undecided as undecided:
        findings += undecided.judgement.findings
    return tuple(findings)


def _with_candidate(
    finding: Finding, claim: PersistentVolumeClaim, node: Node, view: ClusterView
) -> Finding:
    """Where no volume was large enough, the largest that would have suited otherwise."""
    if finding.reason is not Reason.NO_MATCHING_VOLUME:
        return finding
    search = _search(claim, node, (), knows=True)
    candidates = [
        (size_of(volume.spec.capacity).value, volume.name)
        for volume in view.volumes_of_class(claim.storage_class)
        if mismatches(search, volume) == {Mismatch.TOO_SMALL}
    ]
    if not candidates:
        return finding
    seen, name = max(candidates)
    return replace(finding, seen=seen, about=seen_volume(name))


def score(volumes: PodVolumes, shape: ScoringShape = DEFAULT_SHAPE) -> int:
    """From 0 to 100. Where there are static volumes they alone count."""
    if volumes.static:
        usage = static_usage((binding.claim, binding.volume) for binding in volumes.static)
    else:
        usage = dynamic_usage((made.claim, made.capacity) for made in volumes.provisions)
    return score_usage(usage, shape)


def find_bound_conflict(
    claims: Iterable[PersistentVolumeClaim], node: Node, view: ClusterView
) -> Finding | None:
    """The first claim whose volume is gone or cannot be reached from the node. Raises Undecided
    where the node's drivers could not make sense of the volume."""
    findings = (judge_bound(claim, node, view) for claim in claims)
    return next((finding for finding in findings if finding), None)


def judge_bound(claim: PersistentVolumeClaim, node: Node, view: ClusterView) -> Finding | None:
    name = claim.spec.volume_name
    volume = view.volume(name)
    if volume is None:
        reason, sentence = Reason.VOLUME_NOT_FOUND, Sentence.VOLUME_MISSING
    elif _is_reachable(volume, node, view):
        return None
    else:
        reason, sentence = Reason.VOLUME_AFFINITY_CONFLICT, Sentence.VOLUME_AFFINITY
    return Finding(reason=reason, sentence=sentence, claim=claim.key, about=seen_volume(name))


def _is_reachable(volume: PersistentVolume, node: Node, view: ClusterView) -> bool:
    try:
        seen = seen_from_node(volume, view.csi_node(node.name))
    except ValueError as error:
        finding = Finding(
            reason=Reason.VOLUME_NOT_TRANSLATABLE,
            sentence=f"could not translate pv: {error}",
            about=seen_volume(volume.name),
        )
        raise Undecided(failed(finding)) from error
    return is_reachable(seen, node.labels)


def _judge_delayed(
    claims: Iterable[PersistentVolumeClaim], node: Node, view: ClusterView, *, knows: bool
) -> PodVolumes | Finding:
    by_node = _by_selected_node(claims, node)
    if by_node.elsewhere:
        return selected_elsewhere(by_node.elsewhere[0])
    matches = _match(by_node.free, node, view, knows=knows)
    provisions: list[DynamicProvision] = []
    for claim in (*by_node.here, *matches.unmatched):
        provision = judge_provisioning(claim, node, view)
        if isinstance(provision, Finding):
            return provision
        provisions.append(provision)
    return PodVolumes(matches.static, tuple(provisions))


def _by_selected_node(claims: Iterable[PersistentVolumeClaim], node: Node) -> _BySelectedNode:
    by_node = _BySelectedNode([], [], [])
    for claim in claims:
        selected = claim.annotations.get(SELECTED_NODE)
        if selected is None:
            by_node.free.append(claim)
        elif selected == node.name:
            by_node.here.append(claim)
        else:
            by_node.elsewhere.append(claim)
    return by_node


def selected_elsewhere(claim: PersistentVolumeClaim) -> Finding:
    return Finding(
        reason=Reason.SELECTED_ELSEWHERE,
        sentence=Sentence.NO_VOLUME,
        claim=claim.key,
        about=SeenObject("Node", ObjectKey("", claim.annotations.get(SELECTED_NODE, ""))),
    )


def _match(
    claims: Iterable[PersistentVolumeClaim], node: Node, view: ClusterView, *, knows: bool
) -> _Matches:
    static: dict[str, StaticBinding] = {}
    unmatched: list[PersistentVolumeClaim] = []
    for claim in sorted(claims, key=lambda claim: size_of(claim.spec.resources.requests)):
        search = _search(claim, node, static.keys(), knows=knows)
        volume = find_match(search, view.volumes_of_class(claim.storage_class))
        if volume is None:
            unmatched.append(claim)
        else:
            static[volume.name] = StaticBinding(claim, volume)
    return _Matches(tuple(static.values()), tuple(unmatched))


def _search(
    claim: PersistentVolumeClaim, node: Node, chosen: Iterable[str], *, knows: bool
) -> Search:
    try:
        return Search.of(
            claim,
            node_labels=node.labels,
            excluded=frozenset(chosen),
            knows_attributes_classes=knows,
        )
    except ValueError as error:
        finding = Finding(reason=Reason.CLAIM_IS_INVALID, sentence=str(error), claim=claim.key)
        raise Undecided(failed(finding)) from error


def _place(finding: Finding) -> int:
    """In the order in which kube-scheduler lists its sentences."""
    return list(Sentence).index(Sentence(finding.sentence))
