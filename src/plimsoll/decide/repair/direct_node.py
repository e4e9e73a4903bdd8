"""A claim that waits for a scheduler in vain: its pod was put on a node directly."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.node import NodeSelector
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import BIND_COMPLETED, SELECTED_NODE
from plimsoll.decide.claims.protection import is_for_pod
from plimsoll.decide.repair.repairs import Repair, RepairReason, RepairRule, regarding, select_node

NO_PROVISIONER = "kubernetes.io/no-provisioner"
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def waits_for_scheduler(claim: PersistentVolumeClaim) -> bool:
    return not (
        claim.is_being_deleted
        or claim.spec.volume_name
        or BIND_COMPLETED in claim.annotations
        or SELECTED_NODE in claim.annotations
    )


def decide_direct_node(
    claim: PersistentVolumeClaim,
    storage_class: StorageClass | None,
    *,
    pods: Iterable[Pod],
    nodes: Mapping[ObjectKey, Node],
    volumes: Sequence[PersistentVolume],
) -> Repair | None:
    """Select the node that the claim's oldest pod is on, as the scheduler would have.

    `pods` are those that name the claim, `volumes` those of the claim's class.

    No data can be lost: the claim has no volume and was never bound; setting the annotation makes
    a provisioner create one. It is not set where an existing volume might be taken instead that
    the node cannot reach: once a node is selected, no program checks reachability again. The write
    holds only if the claim has not changed since.
    """
    if not waits_for_scheduler(claim) or not _has_delayed_binding(storage_class):
        return None
    node = _node_of_oldest(claim, pods, nodes)
    if node is None or any(_might_be_taken(volume, claim, node) for volume in volumes):
        return None
    return Repair(
        rule=RepairRule.DIRECT_NODE,
        reason=RepairReason.SELECTED_NODE_SET,
        regarding=regarding(claim, "v1", "PersistentVolumeClaim"),
        found=f"A pod that uses this claim was put on node {node.name} without the scheduler",
        remedy="this node is selected for the claim's volume",
        writes=(select_node(claim, node.name),),
    )


def _has_delayed_binding(storage_class: StorageClass | None) -> bool:
    return (
        storage_class is not None
        and storage_class.waits_for_consumer
        and storage_class.provisioner != NO_PROVISIONER
    )


def _node_of_oldest(
    claim: PersistentVolumeClaim, pods: Iterable[Pod], nodes: Mapping[ObjectKey, Node]
) -> Node | None:
    placed = [pod for pod in pods if pod.spec.node_name and _uses(pod, claim)]
    placed.sort(key=lambda pod: (pod.metadata.creation_timestamp or LONG_AGO, pod.key))
    return nodes.get(ObjectKey("", placed[0].spec.node_name)) if placed else None


def _uses(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    if pod.is_finished or pod.is_being_deleted:
        return False
    return any(
        pod.claim_of(volume) == claim.key and (volume.ephemeral is None or is_for_pod(claim, pod))
        for volume in pod.spec.volumes
    )


def _might_be_taken(volume: PersistentVolume, claim: PersistentVolumeClaim, node: Node) -> bool:
    """Free, or kept for this claim, and out of the node's reach."""
    if volume.spec.claim not in (None, claim.key):
        return False
    required = volume.spec.required_nodes
    return required is not None and not NodeSelector.of(required).matches(node.labels, node.name)
