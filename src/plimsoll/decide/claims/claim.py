"""What to do about a claim: find, finish or restore its binding, or have a volume provisioned."""

from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import (
    BETA_STORAGE_PROVISIONER,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
)
from plimsoll.decide.claims.default_class import find_default_class
from plimsoll.decide.claims.match import Search, find_first_match, find_objection, is_kept_for
from plimsoll.decide.claims.operations import DecideAgain, Decision
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.claims.reclaim import has_ended
from plimsoll.decide.claims.view import ClaimsAndVolumes
from plimsoll.decide.claims.writes import (
    ClaimPhase,
    VolumePhase,
    annotate,
    bind_claim,
    bind_volume,
    existing,
    normal,
    patch_of,
    set_claim_bound,
    set_claim_unbound,
    set_volume_phase,
    warning,
)
from plimsoll.decide.csi.migration import migration_patch
from plimsoll.decide.plan import Emit, Plan
from plimsoll.decide.provisioning.in_process.provision import decide_provision


def decide_claim(claim: PersistentVolumeClaim, view: ClaimsAndVolumes) -> Decision:
    provisioner = claim.annotations.get(
        STORAGE_PROVISIONER, claim.annotations.get(BETA_STORAGE_PROVISIONER)
    )
    if migration := annotate(claim, migration_patch(claim.annotations, provisioner)):
        return Decision(
            plan=Plan(reason=BindingReason.MIGRATION_NOTED, writes=(migration,)),
            operation=DecideAgain(),
        )
    if BIND_COMPLETED in claim.annotations:
        return _decide_completed(claim, view)
    if claim.spec.volume_name:
        return _decide_requested(claim, view)
    return _decide_open(claim, view)


def decide_binding(claim: PersistentVolumeClaim, volume: PersistentVolume) -> Decision:
    """Those of the four writes that are still missing.

    The volume comes first: one that names a claim can be finished or undone later, a claim that
    names another claim's volume cannot.
    """
    writes = existing(
        bind_volume(volume, claim),
        set_volume_phase(volume, VolumePhase.BOUND),
        bind_claim(claim, volume),
    )
    try:
        status = set_claim_bound(claim, volume)
    except ValueError as error:
        return Decision(plan=Plan(reason=BindingReason.BOUND, writes=writes), complaint=str(error))
    return Decision(plan=Plan(reason=BindingReason.BOUND, writes=writes + existing(status)))


def _decide_completed(claim: PersistentVolumeClaim, view: ClaimsAndVolumes) -> Decision:
    """A claim that was bound once gets no other volume: its data were on that one."""
    if not claim.spec.volume_name:
        message = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
        return _lost(claim, BindingReason.CLAIM_LOST, message)
    volume = view.volume(claim.spec.volume_name)
    if volume is None:
        message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
        return _lost(claim, BindingReason.CLAIM_LOST, message)
    reference = volume.spec.claim_ref
    if reference is None or reference.uid == claim.uid:
        return decide_binding(claim, volume)
    message = "Two claims are bound to the same volume, this one is bound incorrectly"
    return _lost(claim, BindingReason.CLAIM_MISBOUND, message)


def _lost(claim: PersistentVolumeClaim, reason: BindingReason, message: str) -> Decision:
    if claim.status.phase == ClaimPhase.LOST:
        return Decision(plan=Plan(reason=reason))
    writes = existing(
        set_claim_unbound(claim, ClaimPhase.LOST),
        warning(claim, reason, message),
    )
    return Decision(plan=Plan(reason=reason, writes=writes))


def _decide_requested(claim: PersistentVolumeClaim, view: ClaimsAndVolumes) -> Decision:
    """The claim names a volume, but the binding was never completed."""
    volume = view.volume(claim.spec.volume_name)
    if volume is None:
        return _pending(claim, BindingReason.REQUESTED_VOLUME_IS_MISSING)
    if volume.spec.claim_ref is None:
        if objection := find_objection(claim, volume):
            message = f'Cannot bind to requested volume "{volume.name}": {objection}'
            return _pending(
                claim,
                BindingReason.VOLUME_MISMATCH,
                warning(claim, BindingReason.VOLUME_MISMATCH, message),
            )
        return decide_binding(claim, volume)
    if is_kept_for(volume, claim.key, claim.uid):
        return decide_binding(claim, volume)
    return _decide_taken(claim, volume)


def _decide_taken(claim: PersistentVolumeClaim, volume: PersistentVolume) -> Decision:
    message = f'volume "{volume.name}" already bound to a different claim.'
    event = warning(claim, BindingReason.FAILED_BINDING, message)
    if BOUND_BY_CONTROLLER not in claim.annotations:
        return _pending(claim, BindingReason.FAILED_BINDING, event)
    # Only this controller sets the mark, and never for another claim's volume: this is an error.
    return Decision(
        plan=Plan(reason=BindingReason.FAILED_BINDING, writes=(event,)),
        complaint=f'invalid binding of claim "{claim.key}" to volume "{volume.name}": '
        f'volume already claimed by "{volume.spec.claim}"',
    )


def _decide_open(claim: PersistentVolumeClaim, view: ClaimsAndVolumes) -> Decision:
    """The claim takes any volume that suits it."""
    class_ = view.storage_class(claim.storage_class) if claim.storage_class else None
    if class_ is not None and class_.volume_binding_mode is None:
        return Decision(
            plan=Plan(reason=BindingReason.CLASS_WITHOUT_BINDING_MODE),
            complaint=f'VolumeBindingMode not set for StorageClass "{class_.name}"',
        )
    waits = class_ is not None and class_.waits_for_consumer
    try:
        search = Search.of(claim, waits_for_scheduler=waits)
    except ValueError as error:
        if not view.offers(claim.spec.access_modes):
            # There is nothing that the selector could be compared with: as in Kubernetes, the
            # claim goes on as one that no volume matches.
            return _decide_unmatched(claim, view, waits=waits)
        return Decision(
            plan=Plan(reason=BindingReason.SELECTOR_IS_INVALID),
            complaint=f'error finding PV for claim "{claim.key}": {error}',
        )
    if volume := find_first_match(search, view.candidates(search)):
        return decide_binding(claim, volume)
    return _decide_unmatched(claim, view, waits=waits)


def _decide_unmatched(
    claim: PersistentVolumeClaim, view: ClaimsAndVolumes, *, waits: bool
) -> Decision:
    if claim.asks_for_default_class and (class_ := find_default_class(view.storage_classes())):
        named = patch_of(claim, {"spec": {"storageClassName": class_.name}})
        return Decision(plan=Plan(reason=BindingReason.DEFAULT_CLASS_ASSIGNED, writes=(named,)))
    if waits and SELECTED_NODE not in claim.annotations:
        return _decide_waiting(claim, view)
    if claim.storage_class:
        return decide_provision(claim, view)
    message = "no persistent volumes available for this claim and no storage class is set"
    return _pending(
        claim, BindingReason.FAILED_BINDING, normal(claim, BindingReason.FAILED_BINDING, message)
    )


def _decide_waiting(claim: PersistentVolumeClaim, view: ClaimsAndVolumes) -> Decision:
    pods = sorted(pod.name for pod in view.pods_using(claim.key) if _waits_for_node(pod))
    match pods:
        case []:
            reason = BindingReason.WAIT_FOR_FIRST_CONSUMER
            message = "waiting for first consumer to be created before binding"
        case [pod]:
            reason = BindingReason.WAIT_FOR_POD_SCHEDULED
            message = f"waiting for pod {pod} to be scheduled"
        case _:
            reason = BindingReason.WAIT_FOR_POD_SCHEDULED
            message = f"waiting for pods {','.join(pods)} to be scheduled"
    return _pending(claim, reason, normal(claim, reason, message))


def _waits_for_node(pod: Pod) -> bool:
    return not pod.spec.node_name and not has_ended(pod)


def _pending(
    claim: PersistentVolumeClaim, reason: BindingReason, event: Emit | None = None
) -> Decision:
    writes = existing(event, set_claim_unbound(claim, ClaimPhase.PENDING))
    return Decision(plan=Plan(reason=reason, writes=writes))
