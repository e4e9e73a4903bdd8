"""Volumes on the disks of a node that is gone, which keep their claims from ever being used."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.node import NodeSelector, NodeTermSpec
from plimsoll.api.storage import VolumeAttachment
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.plan import Delete, Write
from plimsoll.decide.repair.repairs import Repair, RepairReason, RepairRule, regarding
from plimsoll.decide.resources import CLAIMS, VOLUMES

HOSTNAME = "kubernetes.io/hostname"
NODE_NAME = "metadata.name"
DELETE = "Delete"
BOUND = "Bound"
WITHOUT_CLAIM = frozenset({"Released", "Failed"})
"""Failed: it was released, and could not be reclaimed, as is to be expected of a lost node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostVolumesView:
    """What the server itself just said: a delayed watch must not cost users their data."""

    nodes: Collection[Node]
    """All there are."""
    pods: Sequence[Pod] = ()
    """All of the claim's namespace."""
    attachments: Sequence[VolumeAttachment] = ()
    """Those of the volume."""
    claim: PersistentVolumeClaim | None = None
    """The one that the volume is kept for, if it exists."""


def pinned_node(volume: PersistentVolume) -> str:
    """The one node that can reach the volume, by its name; empty: there may be others.

    Labels like a zone do not count: a place without nodes is not a lost one.
    """
    required = volume.spec.required_nodes
    terms = required.node_selector_terms if required is not None else ()
    named = {_named_by(term) for term in terms if not term.is_empty}
    return named.pop() if len(named) == 1 else ""


def names_of(node: Node) -> set[str]:
    """Everything by which a volume may be pinned to this node."""
    return {node.name, node.labels.get(HOSTNAME, node.name)}


def _named_by(term: NodeTermSpec) -> str:
    names = {
        requirement.values[0]
        for requirements, key in (
            (term.match_expressions, HOSTNAME),
            (term.match_fields, NODE_NAME),
        )
        for requirement in requirements
        if requirement.key == key
        and requirement.operator == "In"
        and requirement.values is not None
        and len(requirement.values) == 1
    }
    return names.pop() if len(names) == 1 else ""


def may_be_given_up(volume: PersistentVolume) -> bool:
    """Its reclaim policy says that its data goes with its claim, and it has or had one."""
    return (
        not volume.is_being_deleted
        and volume.spec.persistent_volume_reclaim_policy == DELETE
        and volume.spec.claim_ref is not None
        and (volume.status.phase == BOUND or volume.status.phase in WITHOUT_CLAIM)
        and bool(pinned_node(volume))
    )


def decide_lost_volume(
    volume: PersistentVolume, view: LostVolumesView, *, gone_for: timedelta, grace: timedelta
) -> Repair | None:
    """Delete the volume, and before it the claim that is bound to it.

    `gone_for`: for how long no node that could reach the volume has existed.

    What data there was is on the disks of a machine that left the cluster; deleting objects does
    not touch it. It is given up only if the volume can be reached from that one node by name and
    from no node that exists, for longer than the operator said a node may stay away; if the
    reclaim policy is Delete, never Retain; if no pod that was put on a node and has not finished
    names the claim; and if nothing is attached. The claim must be the one that the volume names,
    by uid, and point back. Both deletions hold only for the versions that were seen, and
    finalizers of others, such as the provisioner's, are respected.
    """
    node = pinned_node(volume)
    if not may_be_given_up(volume) or gone_for < grace:
        return None
    if _is_reachable(volume, node, view.nodes) or view.attachments:
        return None
    writes = _deletions(volume, view)
    if not writes:
        return None
    return Repair(
        rule=RepairRule.LOST_NODE_VOLUMES,
        reason=RepairReason.VOLUME_LOST,
        regarding=regarding(volume, "v1", "PersistentVolume"),
        found=f"Node {node}, the only one that can reach this volume, has been gone for "
        f"{timedelta(seconds=int(gone_for.total_seconds()))}",
        remedy="the volume is given up" + (" together with its claim" if len(writes) > 1 else ""),
        writes=writes,
    )


def _is_reachable(volume: PersistentVolume, name: str, nodes: Iterable[Node]) -> bool:
    """By its affinity, or from a node of that name whose labels are not all there yet."""
    required = volume.spec.required_nodes
    selector = NodeSelector.of(required) if required is not None else None
    return any(
        name in names_of(node) or selector is None or selector.matches(node.labels, node.name)
        for node in nodes
    )


def _deletions(volume: PersistentVolume, view: LostVolumesView) -> tuple[Write, ...]:
    gone = Delete(
        resource=VOLUMES,
        key=volume.key,
        uid=volume.uid,
        version=volume.metadata.resource_version,
    )
    claim, reference = view.claim, volume.spec.claim_ref
    is_its_claim = claim is not None and reference is not None and claim.uid == reference.uid
    if claim is None or not is_its_claim:
        # The claim it was kept for is gone.
        return (gone,) if volume.status.phase in WITHOUT_CLAIM else ()
    if claim.spec.volume_name != volume.name or volume.status.phase != BOUND:
        return ()
    if any(_may_use(pod, claim) for pod in view.pods):
        return ()
    asked = Delete(
        resource=CLAIMS, key=claim.key, uid=claim.uid, version=claim.metadata.resource_version
    )
    # The claim first: without it the volume is released, and may go.
    return (gone,) if claim.is_being_deleted else (asked, gone)


def _may_use(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    return bool(pod.spec.node_name) and not pod.is_finished and claim.key in pod.claims
