"""What follows from a driver's answer to CreateVolume, also when the claim is gone by then.

Only a final answer ends an attempt. After any other the driver may still create the volume, so the
same call is repeated. A volume that is too small, or empty where it should be a copy, is deleted
and requested again. One that leaves the allowedTopologies of its class is deleted and requested
again much later: the driver would only do the same. A volume whose claim was deleted, or took
another volume meanwhile, is deleted. So is one that was made for a node which is not selected any
more, or is gone, if the node that is selected now cannot reach it; then the claim is decided about
anew.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.claims.writes import annotate, existing, normal, warning
from plimsoll.decide.plan import Plan, Write
from plimsoll.decide.provisioning.calls import (
    CallFailed,
    Code,
    CreatedVolume,
    CreateOutcome,
    Deleted,
    DeleteOutcome,
    DeleteVolumeCall,
)
from plimsoll.decide.provisioning.failures import Problem, ProvisioningFailure, ProvisioningState
from plimsoll.decide.provisioning.holds import (
    held_back_by,
    hold_of,
    is_to_be_undone,
    undone_message,
)
from plimsoll.decide.provisioning.intents import LEAVES_NOTHING
from plimsoll.decide.provisioning.protection import decide_release
from plimsoll.decide.provisioning.recorded import Asset, is_recorded
from plimsoll.decide.provisioning.settings import ProvisionerSettings
from plimsoll.decide.provisioning.steps import (
    AfterCreate,
    Attempt,
    Call,
    ClaimMemory,
    CleanUp,
    Ignore,
    IgnoreReason,
    ProvisioningRecord,
    Refuse,
    Reschedule,
    SlowRetry,
    StartOver,
)
from plimsoll.decide.provisioning.topology.allowed_topologies import (
    outside_allowed,
    shown_allowed,
    shown_segments,
)
from plimsoll.decide.provisioning.topology.places import places_of
from plimsoll.decide.provisioning.topology.reach import is_reachable
from plimsoll.decide.provisioning.topology.requirement import NO_TOPOLOGY
from plimsoll.decide.provisioning.topology.selected_node import selected_node_of
from plimsoll.decide.provisioning.view import ProvisioningContext
from plimsoll.decide.provisioning.volume import volume_document


def after_create(
    call: Call,
    outcome: CreateOutcome,
    claim: PersistentVolumeClaim | None,
    context: ProvisioningContext,
) -> AfterCreate:
    """`claim` is what the claim is now; None if it is gone."""
    match outcome:
        case CallFailed():
            return _after_failure(call, outcome, claim, context)
        case CreatedVolume():
            return _after_created(call, outcome, claim, context)
        case _:
            assert_never(outcome)


def answer_of(call: Call, outcome: CreateOutcome) -> CreateOutcome:
    """A search that is refused tells nothing, as by a driver that needs a place: the volume is
    there, and what the driver has said before stays."""
    is_refused = isinstance(outcome, CallFailed) and outcome.code in LEAVES_NOTHING
    return call.taken if is_refused and call.taken is not None else outcome


def _after_failure(
    call: Call,
    outcome: CallFailed,
    claim: PersistentVolumeClaim | None,
    context: ProvisioningContext,
) -> Refuse | Reschedule | Call:
    if _may_be_elsewhere(call, outcome, context.settings):
        anywhere = replace(call.call, accessibility=None)
        return replace(call, call=anywhere, taken=outcome)
    attempt, memory = call.attempt, call.memory
    state = _state_after(outcome.code, attempt, context.settings)
    if state is not ProvisioningState.IN_BACKGROUND:
        memory = replace(memory, topology=NO_TOPOLOGY)
    problem, message = Problem.DRIVER_REFUSED, str(outcome)
    if outcome.code is Code.INVALID_ARGUMENT:
        memory = replace(memory, slow_retry=_slow_retry(attempt, context))
        problem = Problem.INFEASIBLE
        message = (
            f"Volume provisioning failed with infeasible error. Retries will be delayed. {outcome}"
        )
    failure = ProvisioningFailure(problem=problem, message=message, state=state)
    return failed(failure, attempt.claim, memory, claim=claim)


def _may_be_elsewhere(call: Call, outcome: CallFailed, settings: ProvisionerSettings) -> bool:
    """Whether an earlier process may have had the volume made for another node, and then ended.

    csi-provisioner does not look for it: the claim waits, and the volume stays, for ever.
    """
    is_placed = call.call.accessibility is not None and bool(call.attempt.selected_node)
    is_taken = outcome.code is Code.ALREADY_EXISTS
    return is_taken and is_placed and not (call.taken or settings.is_compatible)


def _slow_retry(attempt: Attempt, context: ProvisioningContext) -> SlowRetry:
    until = context.now + context.settings.infeasible_delay
    return SlowRetry(until, attempt.storage_class.uid)


def _state_after(code: Code, attempt: Attempt, settings: ProvisionerSettings) -> ProvisioningState:
    if code is Code.RESOURCE_EXHAUSTED and settings.supports_topology and attempt.selected_node:
        return ProvisioningState.RESCHEDULE
    return (
        ProvisioningState.IN_BACKGROUND if code.may_still_be_running else ProvisioningState.FINISHED
    )


def failed(
    failure: ProvisioningFailure,
    subject: PersistentVolumeClaim,
    memory: ClaimMemory,
    *,
    claim: PersistentVolumeClaim | None = None,
    begun: Iterable[Write] = (),
) -> Refuse | Reschedule:
    """`subject` is the claim of the attempt, `claim` what it is now, `begun` what comes first."""
    event = warning(subject, BindingReason.PROVISIONING_FAILED, failure.message)
    writes = (*begun, event)
    if failure.state is ProvisioningState.IN_BACKGROUND:
        memory = replace(memory, in_progress=subject)
    elif failure.state is not ProvisioningState.NO_CHANGE:
        memory = replace(memory, in_progress=None)
    current = claim if claim is not None and claim.uid == subject.uid else subject
    if failure.state is ProvisioningState.RESCHEDULE:
        # Another node has other labels.
        memory = replace(memory, topology=NO_TOPOLOGY)
    # While a hold is there, the scheduler alone takes the node off.
    is_ours_to_move = hold_of(current) is None and _is_still_selected(subject, current)
    if failure.state is ProvisioningState.RESCHEDULE and is_ours_to_move:
        forget_node = annotate(current, {SELECTED_NODE: None})
        plan = Plan(reason=BindingReason.PROVISIONING_FAILED, writes=existing(*writes, forget_node))
        return Reschedule(failure=failure, plan=plan, memory=memory, subject=subject)
    plan = Plan(reason=BindingReason.PROVISIONING_FAILED, writes=writes)
    return Refuse(failure=failure, plan=plan, memory=memory, subject=subject)


def _is_still_selected(subject: PersistentVolumeClaim, current: PersistentVolumeClaim) -> bool:
    """A node that the scheduler selected meanwhile has yet to be tried."""
    selected = subject.annotations.get(SELECTED_NODE)
    return selected is not None and current.annotations.get(SELECTED_NODE) == selected


def _after_created(
    call: Call,
    made: CreatedVolume,
    claim: PersistentVolumeClaim | None,
    context: ProvisioningContext,
) -> ProvisioningRecord | CleanUp:
    attempt, memory = call.attempt, call.memory
    if not (context.settings.is_compatible or _is_wanted(attempt, claim)):
        return _clean_up(attempt, made, memory)
    if claim is not None and _is_given_up(call, made, claim, context):
        is_node_gone = _is_node_gone(selected_node_of(claim), context)
        given_up = _clean_up(attempt, made, memory)
        return replace(given_up, wanted_by=claim, is_node_gone=is_node_gone)
    if flaw := _find_flaw(attempt, made, context.settings):
        return _clean_up(attempt, made, memory, flaw)
    if stray := _find_stray(attempt, made, context):
        memory = replace(memory, slow_retry=_slow_retry(attempt, context))
        return _clean_up(attempt, made, memory, stray)
    is_held = claim is not None and not context.settings.is_compatible
    return ProvisioningRecord(
        made=made,
        hold=held_back_by(_hold_id(attempt), claim) if is_held and claim else "",
        volume=volume_document(call, made, context.settings),
        claim=attempt.claim,
        memory=replace(memory, topology=NO_TOPOLOGY, in_progress=None),
        plan=decide_release(attempt.claim, context.view),
    )


def _clean_up(
    attempt: Attempt,
    made: CreatedVolume,
    memory: ClaimMemory,
    failure: ProvisioningFailure | None = None,
) -> CleanUp:
    return CleanUp(
        call=DeleteVolumeCall(volume_id=made.volume_id, secret=attempt.secret),
        claim=attempt.claim,
        volume_name=attempt.volume_name,
        # Until it is deleted only this memory knows of it.
        memory=replace(memory, in_progress=attempt.claim),
        failure=failure,
    )


def _find_stray(
    attempt: Attempt, made: CreatedVolume, context: ProvisioningContext
) -> ProvisioningFailure | None:
    """csi-provisioner does not look: a volume may be reachable from anywhere."""
    settings, class_ = context.settings, attempt.storage_class
    if settings.is_compatible or not settings.supports_topology:
        return None
    nodes = places_of(settings, context.view).nodes()
    allowed = class_.allowed_topologies
    if not outside_allowed(made.segments, allowed, nodes):
        return None
    return ProvisioningFailure(
        problem=Problem.OUTSIDE_ALLOWED,
        message=f"the driver made volume {attempt.volume_name} accessible from "
        f"{shown_segments(made.segments)}, but allowedTopologies of storage class {class_.name} "
        f"admit only {shown_allowed(allowed)}; allow more, or change its parameters",
    )


def _find_flaw(
    attempt: Attempt, made: CreatedVolume, settings: ProvisionerSettings
) -> ProvisioningFailure | None:
    if made.capacity_bytes != 0 and made.capacity_bytes < attempt.capacity_bytes:
        return ProvisioningFailure(
            problem=Problem.TOO_SMALL,
            message=f"created volume capacity {made.capacity_bytes} "
            f"less than requested capacity {attempt.capacity_bytes}",
            state=ProvisioningState.IN_BACKGROUND,
        )
    # csi-provisioner takes an empty volume where only dataSourceRef names the source.
    is_copy = attempt.content_source is not None
    if settings.is_compatible:
        is_copy = attempt.claim.spec.data_source is not None
    if is_copy and made.content_source is None:
        return ProvisioningFailure(
            problem=Problem.CONTENT_SOURCE_MISSING,
            message="volume content source missing",
            state=ProvisioningState.IN_BACKGROUND,
        )
    return None


def _is_wanted(attempt: Attempt, claim: PersistentVolumeClaim | None) -> bool:
    """Whether the claim still exists and did not take another volume meanwhile."""
    if claim is None or claim.uid != attempt.claim.uid:
        return False
    return claim.spec.volume_name in ("", attempt.volume_name)


def _hold_id(attempt: Attempt) -> str:
    hold = hold_of(attempt.claim)
    return hold.id if hold else ""


def _is_given_up(
    call: Call, made: CreatedVolume, claim: PersistentVolumeClaim, context: ProvisioningContext
) -> bool:
    """Whether the claim is to get another volume than this."""
    if context.settings.is_compatible:
        return False
    if is_to_be_undone(_hold_id(call.attempt), claim):
        return True
    return _is_to_be_moved(call, made, claim, context)


def _is_to_be_moved(
    call: Call, made: CreatedVolume, claim: PersistentVolumeClaim, context: ProvisioningContext
) -> bool:
    """Whether the volume was made for a node that is not selected any more, or is gone, out of
    reach of the one that is. csi-provisioner records it, and the pod has to follow.

    Where the node is still the same, the driver's choice counts, even if the node cannot reach it.
    """
    settings, attempt = context.settings, call.attempt
    if made.volume_id == call.memory.deleting:
        return True
    selected = selected_node_of(claim)
    if not (attempt.selected_node and settings.supports_topology):
        return False
    waits = attempt.storage_class.waits_for_consumer
    if selected == attempt.selected_node and not (waits and _is_node_gone(selected, context)):
        return call.taken is not None and not _reaches(selected, made, context)
    return (bool(selected) or waits) and not _reaches(selected, made, context)


def _reaches(node: str, made: CreatedVolume, context: ProvisioningContext) -> bool:
    found = places_of(context.settings, context.view).node(node) if node else None
    return is_reachable(made.segments, found)


def _is_node_gone(node: str, context: ProvisioningContext) -> bool:
    """A provisioner that serves one node, or whose driver knows no topology, sees no others."""
    sees_nodes = context.settings.supports_topology and context.settings.node is None
    return bool(node) and sees_nodes and context.view.node(node) is None


def before_cleanup(
    cleanup: CleanUp,
    volumes: Iterable[PersistentVolume],
    settings: ProvisionerSettings,
    *,
    number: int = 0,
) -> CleanUp | Ignore:
    """`volumes` are all that the server has now: another process may have recorded this one, which
    the driver was asked for under `number`."""
    asset = Asset(
        driver=settings.driver,
        volume_name=cleanup.volume_name,
        volume_id=cleanup.call.volume_id,
        number=number,
        node="" if settings.node is None else settings.node.node_name,
    )
    if settings.is_compatible or not is_recorded(asset, volumes):
        return cleanup
    memory = replace(cleanup.memory, topology=NO_TOPOLOGY, in_progress=None, deleting="")
    return Ignore(reason=IgnoreReason.PROVISIONED_ALREADY, memory=memory)


def after_saved(record: ProvisioningRecord, claim: PersistentVolumeClaim | None) -> Plan:
    """`claim` is what the claim is now; a claim that is gone gets no event."""
    if claim is None or claim.uid != record.claim.uid:
        return Plan(reason=BindingReason.PROVISIONING_SUCCEEDED)
    told = f"Successfully provisioned volume {record.name}"
    event = normal(claim, BindingReason.PROVISIONING_SUCCEEDED, told)
    return Plan(reason=BindingReason.PROVISIONING_SUCCEEDED, writes=(event,))


def after_unsaved(record: ProvisioningRecord, message: str) -> Plan:
    """The volume is there, but the API does not have it yet; `message` is what the server said."""
    told = f"volume {record.name} is made, but storing it failed and will be repeated: {message}"
    event = warning(record.claim, BindingReason.PROVISIONING_FAILED, told)
    return Plan(reason=BindingReason.PROVISIONING_FAILED, writes=(event,))


def after_cleanup(
    cleanup: CleanUp, outcome: DeleteOutcome
) -> Refuse | Reschedule | Ignore | StartOver:
    """What could not be deleted is requested again, so that it is found and deleted then."""
    if cleanup.failure is not None:
        return _after_flawed(cleanup, cleanup.failure, outcome)
    match outcome:
        case Deleted() if cleanup.wanted_by is not None:
            return _start_over(cleanup, cleanup.wanted_by)
        case Deleted():
            return Ignore(reason=IgnoreReason.ROLLED_BACK)
        case CallFailed():
            failure = ProvisioningFailure(
                problem=Problem.UNWANTED,
                message=f"volume {cleanup.volume_name} is not wanted any more, "
                f"but deleting it failed: {outcome}",
                state=ProvisioningState.IN_BACKGROUND,
            )
            memory = replace(cleanup.memory, deleting=cleanup.call.volume_id)
            return failed(failure, cleanup.claim, memory)
        case _:
            assert_never(outcome)


def _start_over(cleanup: CleanUp, claim: PersistentVolumeClaim) -> StartOver:
    told = undone_message(cleanup.volume_name, claim, is_node_gone=cleanup.is_node_gone)
    event = normal(claim, BindingReason.SELECTED_NODE_CHANGED, told)
    return StartOver(
        plan=Plan(reason=BindingReason.SELECTED_NODE_CHANGED, writes=(event,)),
        memory=replace(cleanup.memory, topology=NO_TOPOLOGY, in_progress=None, deleting=""),
    )


def _after_flawed(
    cleanup: CleanUp, failure: ProvisioningFailure, outcome: DeleteOutcome
) -> Refuse | Reschedule:
    if isinstance(outcome, Deleted):
        is_over = failure.state is ProvisioningState.FINISHED
        memory = replace(cleanup.memory, topology=NO_TOPOLOGY) if is_over else cleanup.memory
        return failed(failure, cleanup.claim, memory)
    message = (
        f"{failure.message}. Cleanup of volume {cleanup.volume_name} failed, "
        f"volume is orphaned: {outcome}"
    )
    orphaned = replace(failure, message=message, state=ProvisioningState.IN_BACKGROUND)
    return failed(orphaned, cleanup.claim, replace(cleanup.memory, slow_retry=None))
