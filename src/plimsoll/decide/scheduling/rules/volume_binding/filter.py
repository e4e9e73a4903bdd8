"""Which volumes a pod would get on a node: those it has, those that exist, those to be made.

Late claims take existing volumes before new ones are made, smallest claim first, each the smallest
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
    """What is to be done for a pod's late claims if it goes to some node."""

    static: tuple[StaticBinding, ...] = ()
    provisions: tuple[DynamicProvision, ...] = ()


class _Promises(NamedTuple):
    """Late claims by the node that they already name. One that names a node is provisioned for
    there, whatever volumes exist."""

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
    and one about late ones."""
    try:
        bound = find_bound_conflict(claims.bound, node, view)
        late = _judge_late(claims.late, node, view, knows=knows_attributes_classes)
    except Undecided as undecided:
        return undecided.judgement
    findings = [finding for finding in (bound, late) if isinstance(finding, Finding)]
    if findings:
        return unresolvable(*sorted(findings, key=_place))
    return late if isinstance(late, PodVolumes) else PodVolumes()


def every_finding(claims: PodClaims, node: Node, view: ClusterView) -> tuple[Finding, ...]:
    """Everything that speaks against the node, for people who want to know; `judge` stops at the
    first for bound and for late claims each. Empty if and only if `judge` finds volumes."""
    findings: list[Finding] = []
    promises = _promises(claims.late, node)
    try:
        bound = [judge_bound(claim, node, view) for claim in claims.bound]
        findings += filter(None, bound)
        findings += map(selected_elsewhere, promises.elsewhere)
        matches = _match(promises.free, node, view, knows=True)
        for claim in (*promises.here, *matches.unmatched):
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


def _judge_late(
    claims: Iterable[PersistentVolumeClaim], node: Node, view: ClusterView, *, knows: bool
) -> PodVolumes | Finding:
    promises = _promises(claims, node)
    if promises.elsewhere:
        return selected_elsewhere(promises.elsewhere[0])
    matches = _match(promises.free, node, view, knows=knows)
    provisions: list[DynamicProvision] = []
    for claim in (*promises.here, *matches.unmatched):
        provision = judge_provisioning(claim, node, view)
        if isinstance(provision, Finding):
            return provision
        provisions.append(provision)
    return PodVolumes(matches.static, tuple(provisions))


def _promises(claims: Iterable[PersistentVolumeClaim], node: Node) -> _Promises:
    promises = _Promises([], [], [])
    for claim in claims:
        selected = claim.annotations.get(SELECTED_NODE)
        if selected is None:
            promises.free.append(claim)
        elif selected == node.name:
            promises.here.append(claim)
        else:
            promises.elsewhere.append(claim)
    return promises


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
