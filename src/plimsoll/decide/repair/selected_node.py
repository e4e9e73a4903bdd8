"""A claim that waits for a volume on a node that is gone."""

from collections.abc import Iterable

from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import BIND_COMPLETED, SELECTED_NODE
from plimsoll.decide.provisioning.holds import hold_of
from plimsoll.decide.repair.repairs import Repair, RepairReason, RepairRule, regarding, select_node


def selected_node_while_unbound(claim: PersistentVolumeClaim) -> str:
    """Empty: nothing was selected, or it does not matter any more."""
    if claim.is_being_deleted or claim.spec.volume_name or BIND_COMPLETED in claim.annotations:
        return ""
    return claim.annotations.get(SELECTED_NODE, "")


def decide_selected_node(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], *, node_is_gone: bool
) -> Repair | None:
    """Take the selected node off the claim: the scheduler chooses anew.

    `volumes` are those that are kept for this claim.

    No data can be lost. The claim has no volume, was never bound, and no volume is kept for it, so
    no pod has written anything to it. Should a provisioner be at work for the lost node after
    all, then on a volume whose name follows from the claim: it will find or replace that volume
    with its next call. The write holds only if the claim has not changed since.

    While a hold is on the claim, the scheduler takes the node off, together with the hold.
    """
    if hold_of(claim) is not None:
        return None
    node = selected_node_while_unbound(claim)
    if not node or not node_is_gone or any(volume.spec.claim == claim.key for volume in volumes):
        return None
    return Repair(
        rule=RepairRule.SELECTED_NODE,
        reason=RepairReason.SELECTED_NODE_GONE,
        regarding=regarding(claim, "v1", "PersistentVolumeClaim"),
        found=f"The selected node {node} is gone",
        remedy="it is taken off the claim and the scheduler chooses another",
        writes=(select_node(claim, None),),
    )
