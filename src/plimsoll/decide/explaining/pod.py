"""Everything that speaks against a pod, node by node and claim by claim.

The scheduler stops at the first reason against a node; here all of them are found, with numbers.
What is said agrees with what the scheduler would do: a node has troubles if and only if the
scheduler would not take it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.decide.columns.rules.judge import Rejected
from plimsoll.decide.columns.rules.node_view import NodeView
from plimsoll.decide.explaining.groups import NodeGroup, SharedTrouble, Trouble, grouped, shared
from plimsoll.decide.explaining.standing import ClaimStanding, claim_standing
from plimsoll.decide.schedule import Kernel, NoNode
from plimsoll.decide.scheduling import volume_binding, volume_restrictions, volume_zone
from plimsoll.decide.scheduling.claims import PodClaims, find_objection, prepare
from plimsoll.decide.scheduling.reasons import Judgement, Rule
from plimsoll.decide.scheduling.view import ClusterView


class PodState(StrEnum):
    SCHEDULED = "Scheduled"
    DELETING = "Deleting"
    GATED = "Gated"
    """It is not to be scheduled yet."""
    SCHEDULABLE = "Schedulable"
    """Some node would do; the scheduler has not come round to it."""
    UNSCHEDULABLE = "Unschedulable"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodExplanation:
    pod: Pod
    state: PodState
    message: str
    """In one line, as the scheduler puts it in its events."""
    claims: tuple[ClaimStanding, ...] = ()
    everywhere: tuple[SharedTrouble, ...] = ()
    """What speaks against the pod on any node."""
    groups: tuple[NodeGroup, ...] = ()
    fitting: tuple[str, ...] = ()
    """Nodes that would do, by name."""
    best: str = ""
    """The one that would be taken."""
    nodes: int = 0


def explain_pod(pod: Pod, kernel: Kernel) -> PodExplanation:
    """`pod` need not be known to the kernel, but everything else has to."""
    claims = tuple(claim_standing(key, kernel.columns) for key in dict.fromkeys(pod.claims))
    nodes = len(kernel.columns.nodes())
    settled = _settled(pod)
    if settled is not None:
        state, message = settled
        return PodExplanation(pod=pod, state=state, message=message, claims=claims, nodes=nodes)
    decision = kernel.decide(pod)
    everywhere = tuple(shared([trouble]) for trouble in _everywhere(pod, kernel))
    by_node = _by_node(pod, kernel)
    if isinstance(decision, NoNode):
        state, message, best = PodState.UNSCHEDULABLE, decision.message, ""
    else:
        best, state = decision.node, PodState.SCHEDULABLE
        message = f"{decision.feasible}/{nodes} nodes are available: {best} would be taken."
    is_possible = not everywhere
    return PodExplanation(
        pod=pod,
        state=state,
        message=message,
        claims=claims,
        everywhere=everywhere,
        groups=grouped({node: found for node, found in by_node.items() if found}),
        fitting=tuple(node for node, found in by_node.items() if is_possible and not found),
        best=best,
        nodes=nodes,
    )


def _settled(pod: Pod) -> tuple[PodState, str] | None:
    """Where nothing is to be judged."""
    if pod.spec.node_name:
        return PodState.SCHEDULED, f"The pod is on node {pod.spec.node_name}."
    if pod.is_being_deleted:
        return PodState.DELETING, "The pod is being deleted."
    if gates := [gate.name for gate in pod.spec.scheduling_gates]:
        return PodState.GATED, f"Scheduling is blocked by gates: {', '.join(gates)}."
    return None


def _everywhere(pod: Pod, kernel: Kernel) -> list[Trouble]:
    """Every objection that holds on all nodes, each once."""
    found = {trouble.kind: trouble for trouble in _objections(pod, kernel.columns)}
    return [*found.values()]


def _objections(pod: Pod, view: ClusterView) -> Iterator[Trouble]:
    for volume in pod.spec.volumes:
        if objection := find_objection(pod, volume, view):
            yield Trouble(rule=Rule.VOLUME_BINDING, finding=objection)
    prepared = {
        Rule.VOLUME_BINDING: prepare(pod, view),
        Rule.VOLUME_RESTRICTIONS: volume_restrictions.prepare(pod, view),
        Rule.VOLUME_ZONE: volume_zone.prepare(pod, view),
    }
    for rule, judgement in prepared.items():
        if isinstance(judgement, Judgement):
            yield from (Trouble(rule=rule, finding=finding) for finding in judgement.findings)


def _by_node(pod: Pod, kernel: Kernel) -> dict[str, list[Trouble]]:
    claims = prepare(pod, kernel.columns)
    # What holds everywhere is said once, not for every node again.
    is_rejected = isinstance(kernel.judge(pod), Rejected)
    found: dict[str, list[Trouble]] = {}
    for node in kernel.columns.nodes():
        explanation = kernel.explain_node(pod, node.name)
        troubles = found[node.name] = []
        for rule, judgement in explanation.judgements.items():
            if judgement.is_fit or (is_rejected and isinstance(rule, Rule)):
                continue
            findings = judgement.findings
            if rule is Rule.VOLUME_BINDING and isinstance(claims, PodClaims):
                view = _seen_from(node, pod, kernel)
                findings = volume_binding.every_finding(claims, node, view)
            troubles += [Trouble(rule=rule, finding=finding) for finding in findings]
    return found


def _seen_from(node: Node, pod: Pod, kernel: Kernel) -> ClusterView:
    slot = kernel.columns.index.find(node.name)
    return kernel.columns if slot is None else NodeView(kernel.columns, slot, pod.claims)
