"""Provisioners that run on every node: which one provisions a claim that waits for no pod?

A claim with a selected node is provisioned there and nowhere else. For a claim without one, which
need not wait for a pod, the provisioner of each allowed node waits for a random time. It checks
that no other was faster and that its driver has free capacity, and then selects its own node: the
API server lets one of them win. If that driver has too little capacity after all, the selected node
is taken off and the race begins anew.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import assert_never

from plimsoll.api.storage import IMMEDIATE, StorageClass
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.claims.writes import annotate, existing
from plimsoll.decide.plan import Plan
from plimsoll.decide.provisioning.calls import (
    CallFailed,
    CapacityOutcome,
    CapacityReport,
    CreateVolumeCall,
    GetCapacityCall,
)
from plimsoll.decide.provisioning.failures import RefusalError
from plimsoll.decide.provisioning.preparation import (
    Preparation,
    PreparedRequest,
    WantedVolume,
    create_call,
    secret_references,
)
from plimsoll.decide.provisioning.request.sources import Populator
from plimsoll.decide.provisioning.settings import NodeDeployment, ProvisionerSettings
from plimsoll.decide.provisioning.steps import Attempt, ClaimMemory, Compete, Ignore, IgnoreReason
from plimsoll.decide.provisioning.topology.places import OwnNode
from plimsoll.decide.provisioning.topology.requirement import NotLocated, TopologyRequest, locate
from plimsoll.decide.provisioning.view import ProvisioningContext

OWNER = "NodeSelectedItself"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipQuestion:
    """Read `attempt.secret`, then `ask_capacity`; if it cannot be read, `after_unanswered`."""

    attempt: Attempt
    claim: PersistentVolumeClaim
    memory: ClaimMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipAttempt:
    """Ask the driver the first of the calls, then `after_capacity`."""

    calls: tuple[GetCapacityCall, ...]
    capacity_bytes: int
    claim: PersistentVolumeClaim
    memory: ClaimMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOver:
    """Enact the plan, which selects this node; if another was faster, `after_lost_race`."""

    plan: Plan
    claim: PersistentVolumeClaim
    memory: ClaimMemory


def consider_competing(
    claim: PersistentVolumeClaim,
    class_: StorageClass,
    memory: ClaimMemory,
    context: ProvisioningContext,
) -> Compete | Ignore:
    """For a claim without a selected node."""
    node = _node(context.settings)
    if class_.volume_binding_mode != IMMEDIATE or not node.takes_immediate_claims:
        return Ignore(
            reason=IgnoreReason.NO_NODE_SELECTED, memory=replace(memory, in_progress=None)
        )
    if class_.allowed_topologies and context.settings.supports_topology:
        request = TopologyRequest.of(
            context.settings, claim.name, class_.allowed_topologies, node.node_name
        )
        found = locate(request, OwnNode(node, context.settings.driver), memory.topology)
        memory = replace(memory, topology=found.memory)
        if isinstance(found, NotLocated):
            return Ignore(
                reason=IgnoreReason.NOT_ALLOWED_HERE, memory=replace(memory, in_progress=None)
            )
    return Compete(claim=claim, memory=memory)


def _node(settings: ProvisionerSettings) -> NodeDeployment:
    if settings.node is None:
        raise ValueError("only provisioners that run on a node compete for claims")
    return settings.node


def race_delay(node: NodeDeployment, lost_races: int, chance: float) -> timedelta:
    """How long to wait before trying; `chance`, from 0 to 1, keeps nodes from trying together."""
    delay = min(node.longest_delay, node.first_delay * (1 << min(lost_races, 20)))
    return max(timedelta(), delay - node.first_delay * chance)


def decide_candidacy(
    compete: Compete, claim: PersistentVolumeClaim | None, context: ProvisioningContext
) -> OwnershipQuestion | TakeOver | Ignore:
    """`claim` is what the claim is now.

    A problem that provisioning would meet is no reason to stand back: only the provisioner that
    owns the claim tells the user about it.
    """
    node = _node(context.settings)
    if claim is None or claim.uid != compete.claim.uid:
        return Ignore(reason=IgnoreReason.GONE)
    memory = replace(compete.memory, in_progress=None)
    selected = claim.annotations.get(SELECTED_NODE, "")
    if selected:
        reason = (
            IgnoreReason.OURS_ALREADY if selected == node.node_name else IgnoreReason.OTHER_NODE
        )
        return Ignore(reason=reason, memory=replace(memory, lost_races=0))
    class_ = context.view.storage_class(claim.storage_class)
    if class_ is None or not claim.spec.requested_bytes:
        return _take_over(claim, memory, context)
    wanted = WantedVolume(claim=claim, storage_class=class_, selected_node=node.node_name)
    found = Preparation(wanted, context).prepare(memory.topology)
    if isinstance(found, Populator):
        return _take_over(claim, memory, context)
    memory = replace(memory, topology=found.topology)
    if isinstance(found, PreparedRequest):
        return OwnershipQuestion(attempt=found.attempt, claim=claim, memory=memory)
    return _take_over(claim, memory, context)


def _take_over(
    claim: PersistentVolumeClaim, memory: ClaimMemory, context: ProvisioningContext
) -> TakeOver:
    selection = annotate(claim, {SELECTED_NODE: _node(context.settings).node_name})
    return TakeOver(
        plan=Plan(reason=OWNER, writes=existing(selection)),
        claim=claim,
        memory=replace(memory, lost_races=0),
    )


def after_unanswered(question: OwnershipQuestion, context: ProvisioningContext) -> TakeOver:
    return _take_over(question.claim, question.memory, context)


def ask_capacity(
    question: OwnershipQuestion, context: ProvisioningContext
) -> OwnershipAttempt | TakeOver:
    try:
        secret_references(question.attempt)
        call = create_call(question.attempt, context)
    except RefusalError:
        return _take_over(question.claim, question.memory, context)
    return OwnershipAttempt(
        calls=_capacity_calls(call),
        capacity_bytes=call.capacity_bytes,
        claim=question.claim,
        memory=question.memory,
    )


def _capacity_calls(call: CreateVolumeCall) -> tuple[GetCapacityCall, ...]:
    """One per segment where the volume may be, or one without a segment."""
    segments = call.accessibility.requisite if call.accessibility else ()
    return tuple(
        GetCapacityCall(capabilities=call.capabilities, parameters=call.parameters, segment=segment)
        for segment in segments or (None,)
    )


def after_capacity(
    attempt: OwnershipAttempt, outcome: CapacityOutcome, context: ProvisioningContext
) -> OwnershipAttempt | TakeOver | Ignore:
    match outcome:
        case CallFailed():
            return _take_over(attempt.claim, attempt.memory, context)
        case CapacityReport(available_bytes) if attempt.capacity_bytes <= available_bytes:
            return _take_over(attempt.claim, attempt.memory, context)
        case CapacityReport():
            if rest := attempt.calls[1:]:
                return replace(attempt, calls=rest)
            return _stand_back(attempt, context)
        case _:
            assert_never(outcome)


def _stand_back(attempt: OwnershipAttempt, context: ProvisioningContext) -> Ignore:
    """Without an event: other nodes may have capacity, and it may come back here, too."""
    is_compatible, node = context.settings.is_compatible, _node(context.settings)
    return Ignore(
        reason=IgnoreReason.NO_ROOM_HERE,
        memory=replace(attempt.memory, lost_races=attempt.memory.lost_races + 1),
        recheck_after=None if is_compatible else node.longest_delay,
    )


def after_lost_race(compete: Compete) -> Compete:
    """Another writer changed the claim first. Wait longer, then decide on what it wrote."""
    memory = replace(compete.memory, lost_races=compete.memory.lost_races + 1)
    return replace(compete, memory=memory)
