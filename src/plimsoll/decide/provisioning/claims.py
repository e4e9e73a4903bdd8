"""Is this claim ours to provision, and what is the driver to be asked?

A claim is ours if its annotation names our driver, it has no volume, its class exists and is the
driver's, and a node was selected where one has to be. What was begun is finished: while the driver
may still be at work for a claim, the same call is repeated, even if the claim has changed or gone.
"""

from dataclasses import replace

from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import (
    BETA_STORAGE_PROVISIONER,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
)
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.claims.writes import existing, normal
from plimsoll.decide.plan import Emit, Plan
from plimsoll.decide.provisioning.failures import (
    Problem,
    ProvisioningFailure,
    ProvisioningState,
    RefusalError,
)
from plimsoll.decide.provisioning.node_deployment import consider_competing
from plimsoll.decide.provisioning.outcomes import failed
from plimsoll.decide.provisioning.preparation import (
    Preparation,
    PreparedRequest,
    Unprepared,
    WantedVolume,
    create_call,
    secret_references,
)
from plimsoll.decide.provisioning.request.names import volume_name
from plimsoll.decide.provisioning.request.sources import Populator
from plimsoll.decide.provisioning.settings import ProvisionerSettings
from plimsoll.decide.provisioning.steps import (
    Call,
    ClaimMemory,
    ClaimStep,
    Delay,
    Ignore,
    IgnoreReason,
    Prepare,
    Refuse,
    Reschedule,
)
from plimsoll.decide.provisioning.topology.requirement import NO_TOPOLOGY, TopologyMemory
from plimsoll.decide.provisioning.topology.selected_node import selected_node_of
from plimsoll.decide.provisioning.view import ProvisioningContext


def decide_claim(
    claim: PersistentVolumeClaim | None, memory: ClaimMemory, context: ProvisioningContext
) -> ClaimStep:
    """`claim` is None if it is gone."""
    subject = _subject(claim, memory, context.settings)
    if subject is None:
        return Ignore(reason=IgnoreReason.GONE)
    if delay := _find_delay(subject, memory, context):
        return delay
    memory = replace(memory, slow_retry=None)
    if subject.spec.volume_name:
        return Ignore(reason=IgnoreReason.BOUND)
    if _provisioner_of(subject) != context.settings.driver:
        return Ignore(reason=IgnoreReason.OTHER_PROVISIONER)
    return _decide_own(subject, memory, context)


def _subject(
    claim: PersistentVolumeClaim | None, memory: ClaimMemory, settings: ProvisionerSettings
) -> PersistentVolumeClaim | None:
    """What the driver may be at work on counts, not how the claim has changed since."""
    unfinished = memory.in_progress
    if claim is None:
        return unfinished
    return claim if unfinished is None or settings.is_compatible else unfinished


def _find_delay(
    claim: PersistentVolumeClaim, memory: ClaimMemory, context: ProvisioningContext
) -> Delay | None:
    slow = memory.slow_retry
    if slow is None or context.now >= slow.until:
        return None
    class_ = context.view.storage_class(claim.storage_class)
    if class_ is None or class_.uid != slow.class_uid:
        return None
    return Delay(until=slow.until, memory=memory)


def _provisioner_of(claim: PersistentVolumeClaim) -> str | None:
    older = claim.annotations.get(BETA_STORAGE_PROVISIONER)
    return claim.annotations.get(STORAGE_PROVISIONER, older)


def _decide_own(
    claim: PersistentVolumeClaim, memory: ClaimMemory, context: ProvisioningContext
) -> ClaimStep:
    settings = context.settings
    class_ = context.view.storage_class(claim.storage_class)
    selected = claim.annotations.get(SELECTED_NODE, "")
    if settings.node is not None and selected != settings.node.node_name:
        if selected:
            return _ignore(IgnoreReason.OTHER_NODE, memory)
        if class_ is not None:
            return consider_competing(claim, class_, memory, context)
    if class_ is None:
        return _class_missing(claim, memory, settings)
    if class_.waits_for_consumer and not selected:
        return _ignore(IgnoreReason.NO_NODE_SELECTED, memory)
    if step := _find_existing(claim, memory, context):
        return step
    if class_.provisioner != settings.driver:
        return _ignore(IgnoreReason.CLASS_OF_OTHER_PROVISIONER, memory)
    return _prepare(claim, class_, memory, context)


def _ignore(reason: IgnoreReason, memory: ClaimMemory) -> Ignore:
    return Ignore(reason=reason, memory=replace(memory, in_progress=None))


def _class_missing(
    claim: PersistentVolumeClaim, memory: ClaimMemory, settings: ProvisionerSettings
) -> ClaimStep:
    failure = ProvisioningFailure(
        problem=Problem.CLASS_NOT_FOUND,
        message=f'storageClass "{claim.storage_class}" not found',
        state=ProvisioningState.NO_CHANGE,
    )
    step = failed(failure, claim, memory)
    # csi-provisioner only logs it, and the user waits without knowing what for.
    silent = Plan(reason=BindingReason.PROVISIONING_FAILED)
    return replace(step, plan=silent) if settings.is_compatible else step


def _find_existing(
    claim: PersistentVolumeClaim, memory: ClaimMemory, context: ProvisioningContext
) -> ClaimStep | None:
    """What to do if there is a volume under the name that the claim's would get."""
    settings = context.settings
    if settings.is_compatible:
        # csi-provisioner looks for the default name, whatever name it gives.
        known = context.view.volume(f"pvc-{claim.uid}")
        return None if known is None else _ignore(IgnoreReason.PROVISIONED_ALREADY, memory)
    try:
        name = volume_name(claim.uid, settings)
    except RefusalError:
        return None
    volume = context.view.volume(name)
    if volume is None:
        return None
    reference = volume.spec.claim_ref
    if reference is not None and reference.uid == claim.uid:
        return _ignore(IgnoreReason.PROVISIONED_ALREADY, memory)
    failure = ProvisioningFailure(
        problem=Problem.VOLUME_NAME_TAKEN,
        message=f"volume {name} exists already and belongs to another claim; "
        "choose a longer --volume-name-uuid-length",
    )
    return failed(_unasked(failure, memory, context), claim, memory)


def _prepare(
    claim: PersistentVolumeClaim,
    class_: StorageClass,
    memory: ClaimMemory,
    context: ProvisioningContext,
) -> ClaimStep:
    wanted = WantedVolume(
        claim=claim,
        storage_class=class_,
        selected_node=selected_node_of(claim),
        is_begun=memory.in_progress is not None,
    )
    found = Preparation(wanted, context).prepare(_topology_to_repeat(memory, context))
    begun = _announcement(claim)
    if isinstance(found, Populator):
        return _leave_to_populator(claim, begun, memory)
    memory = replace(memory, topology=found.topology)
    writes = existing(begun, found.mark)
    match found:
        case PreparedRequest(attempt=attempt):
            plan = Plan(reason=BindingReason.PROVISIONING, writes=writes)
            return Prepare(attempt=attempt, plan=plan, memory=memory)
        case Unprepared(failure=failure):
            current = context.view.claim(claim.key)
            return failed(
                _unasked(failure, memory, context), claim, memory, claim=current, begun=writes
            )


def _topology_to_repeat(memory: ClaimMemory, context: ProvisioningContext) -> TopologyMemory:
    """Where an earlier call wanted the volume. What no driver was asked for does not count: another
    node may be selected by now. csi-provisioner goes on with what it has found first."""
    is_asked = memory.in_progress is not None
    return memory.topology if is_asked or context.settings.is_compatible else NO_TOPOLOGY


def _announcement(claim: PersistentVolumeClaim) -> Emit:
    message = f'External provisioner is provisioning volume for claim "{claim.key}"'
    return normal(claim, BindingReason.PROVISIONING, message)


def _leave_to_populator(claim: PersistentVolumeClaim, begun: Emit, memory: ClaimMemory) -> Ignore:
    message = "Assuming an external populator will provision the volume"
    event = normal(claim, BindingReason.PROVISIONING, message)
    return Ignore(
        reason=IgnoreReason.POPULATOR,
        memory=replace(memory, in_progress=None),
        plan=Plan(reason=IgnoreReason.POPULATOR, writes=(begun, event)),
    )


def _unasked(
    failure: ProvisioningFailure, memory: ClaimMemory, context: ProvisioningContext
) -> ProvisioningFailure:
    """A problem that was met before the driver was asked says nothing about an earlier call."""
    if context.settings.is_compatible or memory.in_progress is None:
        return failure
    return replace(failure, state=ProvisioningState.NO_CHANGE)


def after_obstacle(prepare: Prepare, message: str) -> Refuse | Reschedule:
    """A write of the plan did not go through; the writes before it have been made."""
    failure = ProvisioningFailure(
        problem=Problem.PROTECTION_FAILED, message=message, state=ProvisioningState.NO_CHANGE
    )
    return failed(failure, prepare.attempt.claim, prepare.memory)


def after_unread(claim: PersistentVolumeClaim, memory: ClaimMemory, message: str) -> ClaimStep:
    """What the claim refers to could not be read: the driver cannot be asked yet."""
    failure = ProvisioningFailure(
        problem=Problem.SOURCE_UNUSABLE,
        message=f"what the claim refers to cannot be read: {message}",
        state=ProvisioningState.NO_CHANGE,
    )
    return failed(failure, claim, memory)


def after_unread_secret(prepare: Prepare, message: str) -> Refuse | Reschedule:
    """`message` says why; it must not say what is in the secret."""
    secret = prepare.attempt.secret
    named = f"{secret.name} in namespace {secret.namespace}" if secret else ""
    failure = ProvisioningFailure(
        problem=Problem.SECRET_NOT_FOUND,
        message=f"error getting secret {named}: {message}",
        state=ProvisioningState.NO_CHANGE,
    )
    return failed(failure, prepare.attempt.claim, prepare.memory)


def decide_call(prepare: Prepare, context: ProvisioningContext) -> Call | Refuse | Reschedule:
    """The sources are marked and the secret is read: what remains to be checked, and the call."""
    attempt, memory = prepare.attempt, prepare.memory
    try:
        secrets = secret_references(attempt)
        call = create_call(attempt, context)
    except RefusalError as refusal:
        return failed(_unasked(refusal.failure, memory, context), attempt.claim, memory)
    return Call(call=call, attempt=attempt, secrets=secrets, memory=memory)
