"""Everything that speaks against a pod, node by node and claim by claim.

The scheduler stops at the first reason against a node; here all of them are found, with numbers.
What is said agrees with what the scheduler would do: a node has troubles if and only if the
scheduler would not take it. What events, leases and other objects show to go wrong besides, before
or after a node is chosen, is found whatever the nodes are like.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.decide.explain.attempts import attempt_troubles
from plimsoll.decide.explain.causes import causes_first
from plimsoll.decide.explain.claim_state import ClaimProgress, ClaimState, claim_progress
from plimsoll.decide.explain.evidence import Evidence
from plimsoll.decide.explain.groups import NodeGroup, NodeTrouble, SharedTrouble, grouped, shared
from plimsoll.decide.explain.held_back import GroupStory, find_story, held_elsewhere
from plimsoll.decide.explain.mounting import is_starting, mounting_troubles, node_troubles
from plimsoll.decide.explain.provisioning import provisioning_troubles
from plimsoll.decide.scheduling.columns.node_view import NodeView
from plimsoll.decide.scheduling.kernel import Kernel, NoNode, Placement
from plimsoll.decide.scheduling.reasons import Judgement, Rule
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules import volume_restrictions, volume_zone
from plimsoll.decide.scheduling.rules.volume_binding import filter as volume_binding
from plimsoll.decide.scheduling.rules.volume_binding.claims import (
    PodClaims,
    find_objection,
    prepare,
)
from plimsoll.decide.scheduling.view import ClusterView


class PodState(StrEnum):
    SCHEDULED = "Scheduled"
    DELETING = "Deleting"
    GATED = "Gated"
    """It is not to be scheduled yet."""
    SCHEDULABLE = "Schedulable"
    """Some node would do; the scheduler has not come round to it."""
    WAITS_FOR_VOLUMES = "WaitsForVolumes"
    """A node is selected; the pod gets it when its volumes are made there."""
    UNSCHEDULABLE = "Unschedulable"


WELL = (PodState.SCHEDULED, PodState.SCHEDULABLE, PodState.WAITS_FOR_VOLUMES)
WAITING = (PodState.SCHEDULABLE, PodState.WAITS_FOR_VOLUMES, PodState.UNSCHEDULABLE)
FAILED = "Failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodExplanation:
    pod: Pod
    state: PodState
    message: str
    """In one line, as the scheduler puts it in its events."""
    claims: tuple[ClaimProgress, ...] = ()
    findings: tuple[SharedTrouble, ...] = ()
    """What was seen to go wrong, whatever the nodes are like; the cause first."""
    everywhere: tuple[SharedTrouble, ...] = ()
    """What speaks against the pod on any node; the cause first."""
    groups: tuple[NodeGroup, ...] = ()
    fitting: tuple[str, ...] = ()
    """Nodes that would do, by name."""
    best: str = ""
    """The one that would be taken."""
    nodes: int = 0
    held_back: GroupStory | None = None
    """How its volumes are made together; None: they are not, or nothing tells."""

    @property
    def is_well(self) -> bool:
        """Nothing was found that keeps the pod from its node and its volumes."""
        return self.state in WELL and not self.findings and self.pod.status.phase != FAILED

    @property
    def cause(self) -> SharedTrouble | None:
        """What to mend first; None: nothing is wrong."""
        if self.is_well:
            return None
        # Of the nodes, those count first where the least has to change.
        groups = self.groups if self.state is PodState.UNSCHEDULABLE else ()
        nearest = (trouble for group in groups[:1] for trouble in group.troubles)
        found = causes_first((*self.findings, *self.everywhere, *nearest))
        return found[0] if found else None


def explain_pod(pod: Pod, kernel: Kernel, evidence: Evidence | None = None) -> PodExplanation:
    """`pod` need not be known to the kernel, but everything else has to."""
    claims = tuple(claim_progress(key, kernel.columns) for key in dict.fromkeys(pod.claims))
    nodes = len(kernel.columns.all_nodes())
    story = find_story(pod, kernel.columns, evidence) if evidence else None
    settled = _settled(pod)
    if settled is None:
        found = _judged(pod, kernel, claims, story)
    else:
        state, message = settled
        found = PodExplanation(pod=pod, state=state, message=message, claims=claims, nodes=nodes)
    if evidence is None:
        return found
    findings = causes_first(_findings(found, kernel, evidence))
    return replace(found, findings=findings, held_back=story)


def _judged(
    pod: Pod, kernel: Kernel, claims: tuple[ClaimProgress, ...], story: GroupStory | None
) -> PodExplanation:
    # The scheduler remembers the node where the last attempt came to nothing.
    ended = story.group.ended if story else None
    decision = kernel.decide(pod, refused=[ended.node] if ended else ())
    everywhere = tuple(shared([trouble]) for trouble in _everywhere(pod, kernel))
    by_node = _by_node(pod, kernel)
    nodes = len(kernel.columns.all_nodes())
    state, message = _outlook(decision, claims, nodes)
    if story is not None and state is PodState.WAITS_FOR_VOLUMES:
        message = story.message
    is_possible = not everywhere
    return PodExplanation(
        pod=pod,
        state=state,
        message=message,
        claims=claims,
        everywhere=causes_first(everywhere),
        groups=grouped({node: found for node, found in by_node.items() if found}),
        fitting=tuple(node for node, found in by_node.items() if is_possible and not found),
        best="" if isinstance(decision, NoNode) else decision.node,
        nodes=nodes,
    )


def _outlook(
    decision: Placement | NoNode, claims: Iterable[ClaimProgress], nodes: int
) -> tuple[PodState, str]:
    if isinstance(decision, NoNode):
        return PodState.UNSCHEDULABLE, decision.message
    waiting = [claim.key.name for claim in claims if claim.state is ClaimState.SELECTED]
    if waiting:
        made = f"the volumes of {', '.join(waiting)} are to be made there first."
        return PodState.WAITS_FOR_VOLUMES, f"Node {decision.node} is selected; {made}"
    message = f"{decision.feasible}/{nodes} nodes are available: {decision.node} would be taken."
    return PodState.SCHEDULABLE, message


def _findings(
    explained: PodExplanation, kernel: Kernel, evidence: Evidence
) -> Iterator[SharedTrouble]:
    pod = explained.pod
    if is_starting(pod):
        yield from mounting_troubles(pod, kernel.columns, evidence)
    elif pod.spec.node_name:
        # A pod that runs on a lost node is not well, although its last status says so.
        if not pod.is_finished:
            yield from node_troubles(pod, kernel.columns)
        return
    found: list[SharedTrouble] = []
    for key in dict.fromkeys(pod.claims):
        if claim := kernel.columns.claim(key):
            found += provisioning_troubles(claim, kernel.columns, evidence)
    held = [*held_elsewhere(pod, kernel.columns, evidence)]
    yield from (*found, *held)
    if explained.state in WAITING and not found:
        # That a claim is held is what the scheduler's last word says, too.
        has_node = explained.state is not PodState.UNSCHEDULABLE and not held
        yield from attempt_troubles(pod, evidence, has_candidate=has_node)


def _settled(pod: Pod) -> tuple[PodState, str] | None:
    """Where nothing is to be judged."""
    if pod.spec.node_name:
        return PodState.SCHEDULED, _progress(pod)
    if pod.is_being_deleted:
        return PodState.DELETING, "The pod is being deleted."
    if gates := [gate.name for gate in pod.spec.scheduling_gates]:
        return PodState.GATED, f"Scheduling is blocked by gates: {', '.join(gates)}."
    return None


def _progress(pod: Pod) -> str:
    """Of a pod that has its node."""
    node, has_claims = pod.spec.node_name, bool(pod.claims)
    match pod.status.phase:
        case "Running":
            return f"The pod runs on node {node}{', with all its volumes' if has_claims else ''}."
        case "Succeeded":
            return f"The pod has ended on node {node}, and succeeded."
        case "Failed":
            why = ": ".join(part for part in (pod.status.reason, pod.status.message) if part)
            return f"The pod has failed on node {node}{f': {why}' if why else ''}."
        case _ if is_starting(pod) and has_claims:
            return f"The pod is on node {node}; its volumes are not all there yet."
        case _:
            return f"The pod is on node {node}, and has not started yet."


def _everywhere(pod: Pod, kernel: Kernel) -> list[NodeTrouble]:
    """Every objection that holds on all nodes, each once: several rules stumble over one claim."""
    found: dict[tuple[str, str], NodeTrouble] = {}
    for trouble in _objections(pod, kernel.columns):
        reason, claim = trouble.finding.reason, trouble.finding.claim
        found.setdefault((reason, str(claim or "")), trouble)
    return [*found.values()]


def _objections(pod: Pod, view: ClusterView) -> Iterator[NodeTrouble]:
    for volume in pod.spec.volumes:
        if objection := find_objection(pod, volume, view):
            yield NodeTrouble(rule=Rule.VOLUME_BINDING, finding=objection)
    prepared = {
        Rule.VOLUME_BINDING: prepare(pod, view),
        Rule.VOLUME_RESTRICTIONS: volume_restrictions.prepare(pod, view),
        Rule.VOLUME_ZONE: volume_zone.prepare(pod, view),
    }
    for rule, judgement in prepared.items():
        if isinstance(judgement, Judgement):
            yield from (NodeTrouble(rule=rule, finding=finding) for finding in judgement.findings)


def _by_node(pod: Pod, kernel: Kernel) -> dict[str, list[NodeTrouble]]:
    claims = prepare(pod, kernel.columns)
    # What holds everywhere is said once, not for every node again.
    is_rejected = isinstance(kernel.judge(pod), Rejected)
    found: dict[str, list[NodeTrouble]] = {}
    for node in kernel.columns.all_nodes():
        explanation = kernel.explain_node(pod, node.name)
        troubles = found[node.name] = []
        for rule, judgement in explanation.judgements.items():
            if judgement.is_fit or (is_rejected and isinstance(rule, Rule)):
                continue
            findings = judgement.findings
            if rule is Rule.VOLUME_BINDING and isinstance(claims, PodClaims):
                view = _seen_from(node, pod, kernel)
                joint = kernel.joint_fit
                findings = volume_binding.every_finding(claims, node, view, joint=joint)
            troubles += [NodeTrouble(rule=rule, finding=finding) for finding in findings]
    return found


def _seen_from(node: Node, pod: Pod, kernel: Kernel) -> ClusterView:
    slot = kernel.columns.index.find(node.name)
    return kernel.columns if slot is None else NodeView(kernel.columns, slot, pod.claims)
