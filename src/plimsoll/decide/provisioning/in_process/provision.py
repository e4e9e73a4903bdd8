"""Which provisioner gets a claim: an external one, named by an annotation, or one inside this
process; and what is written about the outcome of the latter."""

from dataclasses import dataclass, replace
from typing import assert_never

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import (
    ASSET_NAME,
    BETA_STORAGE_PROVISIONER,
    BOUND_BY_CONTROLLER,
    INTERNAL_DELETION,
    PROVISIONED_BY,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    YES,
)
from plimsoll.decide.claims.operations import (
    DecideAgain,
    Decision,
    Failed,
    Provision,
    Provisioned,
    ProvisionOutcome,
    RefuseClaim,
    Refused,
)
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.claims.view import ClaimsAndVolumes, ProvisionerFacts
from plimsoll.decide.claims.writes import (
    VolumePhase,
    annotate,
    existing,
    normal,
    reference_to,
    warning,
)
from plimsoll.decide.csi.migration import find_driver, is_in_tree, migration_patch
from plimsoll.decide.plan import Create, Emit, Patch, Plan
from plimsoll.decide.provisioning.holds import hold_of
from plimsoll.decide.resources import VOLUMES


def decide_provision(claim: PersistentVolumeClaim, view: ClaimsAndVolumes) -> Decision:
    """For a claim with a class that no existing volume suits. Its phase stays what it is."""
    if not view.provisions_dynamically:
        return Decision(plan=Plan(reason=BindingReason.PROVISIONING_IS_DISABLED))
    class_ = view.storage_class(claim.storage_class)
    if class_ is None:
        return _hopeless(claim, f'storageclass.storage.k8s.io "{claim.storage_class}" not found')
    if driver := find_driver(class_.provisioner):
        return _hand_over(claim, driver)
    if facts := view.provisioners.find(class_.provisioner):
        return _decide_internal(_Request(claim, class_, facts), view)
    if is_in_tree(class_.provisioner):
        return _hopeless(claim, f"no volume plugin matched name: {class_.provisioner}")
    return _hand_over(claim, class_.provisioner)


def volume_name_for(claim: PersistentVolumeClaim) -> str:
    """The same for every attempt, so that a claim never gets two volumes."""
    return f"pvc-{claim.uid}"


def _hand_over(claim: PersistentVolumeClaim, provisioner: str) -> Decision:
    message = (
        f"Waiting for a volume to be created either by the external provisioner '{provisioner}' "
        "or manually by the system administrator. If volume creation is delayed, please verify "
        "that the provisioner is running and correctly registered."
    )
    writes = existing(
        _name_provisioner(claim, provisioner),
        normal(claim, BindingReason.EXTERNAL_PROVISIONING, message),
    )
    return Decision(plan=Plan(reason=BindingReason.EXTERNAL_PROVISIONING, writes=writes))


def _name_provisioner(claim: PersistentVolumeClaim, provisioner: str) -> Patch | None:
    if claim.annotations.get(STORAGE_PROVISIONER) == provisioner:
        return None
    named = {BETA_STORAGE_PROVISIONER: provisioner, STORAGE_PROVISIONER: provisioner}
    return annotate(claim, named | migration_patch(claim.annotations, provisioner))


@dataclass(frozen=True, slots=True)
class _Request:
    claim: PersistentVolumeClaim
    storage_class: StorageClass
    provisioner: ProvisionerFacts


def _decide_internal(request: _Request, view: ClaimsAndVolumes) -> Decision:
    claim, name = request.claim, request.provisioner.name
    if claim.spec.data_source is not None:
        return _refuse(
            request,
            f'plugin "{name}" is not a CSI plugin. '
            "Only CSI plugin can provision a claim with a datasource",
        )
    if named := _name_provisioner(claim, name):
        plan = Plan(reason=BindingReason.PROVISIONING, writes=(named,))
        return Decision(plan=plan, operation=DecideAgain())
    volume_name = volume_name_for(claim)
    if view.volume(volume_name) is not None:
        return Decision(plan=Plan(reason=BindingReason.PROVISIONED_ALREADY))
    if objection := _find_objection(request):
        return _refuse(request, objection)
    selected = claim.annotations.get(SELECTED_NODE)
    node = None if selected is None else view.node(selected)
    if selected is not None and node is None:
        return _refuse(request, f'Failed to get target node: node "{selected}" not found')
    operation = Provision(
        claim=claim,
        storage_class=request.storage_class,
        provisioner=name,
        volume_name=volume_name,
        selected_node=node,
    )
    return Decision(plan=Plan(reason=BindingReason.PROVISIONING), operation=operation)


def _find_objection(request: _Request) -> str | None:
    class_ = request.storage_class
    if class_.mount_options and not request.provisioner.takes_mount_options:
        return (
            "Mount options are not supported by the provisioner but StorageClass "
            f'"{class_.name}" has mount options [{" ".join(class_.mount_options)}]'
        )
    if attributes_class := request.claim.spec.volume_attributes_class_name:
        # The volume would not suit the claim: it would be made, and never bound.
        return (
            "Volume attributes classes are not supported by the provisioner but the claim asks for "
            f'"{attributes_class}"'
        )
    if objection := request.provisioner.objection(request.claim, class_):
        return f"Failed to create provisioner: {objection}"
    return None


def _hopeless(claim: PersistentVolumeClaim, message: str) -> Decision:
    """Until claim or class change; each decision about the claim says so again."""
    event = warning(claim, BindingReason.PROVISIONING_FAILED, message)
    return Decision(plan=Plan(reason=BindingReason.PROVISIONING_FAILED, writes=(event,)))


def _refuse(request: _Request, message: str) -> Decision:
    """The same, which also the scheduler is told if it holds the claim."""
    told = _hopeless(request.claim, message)
    if hold_of(request.claim) is None:
        return told
    operation = RefuseClaim(
        claim=request.claim,
        provisioner=request.provisioner.name,
        volume_name=volume_name_for(request.claim),
        message=message,
    )
    return replace(told, operation=operation)


def after_provision(operation: Provision, outcome: ProvisionOutcome) -> Plan:
    """If the volume turns out to be stored already, `after_saved` is what remains.

    If it cannot be stored, the asset has to be deleted: see `after_unsaved`.
    """
    match outcome:
        case Provisioned(volume):
            create = Create(resource=VOLUMES, document=volume_for(operation, volume))
            saved = after_saved(operation)
            return Plan(reason=saved.reason, writes=(create, *saved.writes))
        case Failed(message):
            return Plan(
                reason=BindingReason.PROVISIONING_FAILED,
                writes=existing(_forget_node(operation.claim), _failure(operation, message)),
            )
        case Refused(message):
            event = _failure(operation, message)
            return Plan(reason=BindingReason.PROVISIONING_FAILED, writes=(event,))
        case _:
            assert_never(outcome)


def after_saved(operation: Provision) -> Plan:
    message = (
        f"Successfully provisioned volume {operation.volume_name} using {operation.provisioner}"
    )
    event = normal(operation.claim, BindingReason.PROVISIONING_SUCCEEDED, message)
    return Plan(reason=BindingReason.PROVISIONING_SUCCEEDED, writes=(event,))


def after_unsaved(operation: Provision, error: str) -> Plan:
    """The volume exists, but the API did not take it within reasonable time."""
    message = (
        f"Error creating provisioned PV object for claim {operation.claim.key}: {error}. "
        "Deleting the volume."
    )
    event = warning(operation.claim, BindingReason.PROVISIONING_FAILED, message)
    return Plan(reason=BindingReason.PROVISIONING_FAILED, writes=(event,))


def volume_for(operation: Provision, made: Document) -> Document:
    """The provisioned volume, bound to its claim from the first moment."""
    volume: Document = clone(made)
    metadata, spec = volume.setdefault("metadata", {}), volume.setdefault("spec", {})
    metadata["name"] = operation.volume_name
    metadata["annotations"] = (metadata.get("annotations") or {}) | {
        BOUND_BY_CONTROLLER: YES,
        PROVISIONED_BY: operation.provisioner,
    }
    if operation.asset_name not in ("", operation.volume_name):
        metadata["annotations"][ASSET_NAME] = operation.asset_name
    if spec.get("persistentVolumeReclaimPolicy") == "Delete":
        metadata["finalizers"] = [INTERNAL_DELETION]
    spec["claimRef"] = reference_to(operation.claim)
    spec["storageClassName"] = operation.claim.storage_class
    status = {"phase": VolumePhase.BOUND.value}
    return {"apiVersion": "v1", "kind": "PersistentVolume"} | volume | {"status": status}


def _failure(operation: Provision, message: str) -> Emit:
    class_ = operation.storage_class.name
    return warning(
        operation.claim,
        BindingReason.PROVISIONING_FAILED,
        f'Failed to provision volume with StorageClass "{class_}": {message}',
    )


def _forget_node(claim: PersistentVolumeClaim) -> Patch | None:
    """Let the scheduler choose again; without a selected node it did not choose. While a hold is
    there, it takes both off itself."""
    is_chosen = SELECTED_NODE in claim.annotations and hold_of(claim) is None
    return annotate(claim, {SELECTED_NODE: None}) if is_chosen else None
