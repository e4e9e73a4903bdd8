"""Whether a volume could be made for a claim so that a node can reach it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.api.quantity import Quantity, parse_quantity
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.selectors.topology import TopologySelector
from plimsoll.api.storage import CSIStorageCapacity, StorageClass
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.claims.match import size_of
from plimsoll.decide.scheduling.reasons import (
    Finding,
    Reason,
    SeenObject,
    Sentence,
    Undecided,
    failed,
    seen_class,
)
from plimsoll.decide.scheduling.view import ClusterView

NO_PROVISIONER = "kubernetes.io/no-provisioner"


@dataclass(frozen=True, slots=True)
class DynamicProvision:
    """A volume is to be made for the claim."""

    claim: PersistentVolumeClaim
    capacity: CSIStorageCapacity | None = None
    """Where there is room for it; None: nobody keeps account."""


def judge_provisioning(
    claim: PersistentVolumeClaim, node: Node, view: ClusterView
) -> DynamicProvision | Finding:
    """Raises Undecided if the class is gone."""
    name = claim.storage_class
    storage_class = view.storage_class(name)
    if storage_class is None:
        finding = Finding(
            reason=Reason.CLASS_NOT_FOUND,
            sentence=f'failed to find storage class "{name}"',
            claim=claim.key,
            about=seen_class(name),
        )
        raise Undecided(failed(finding))
    if storage_class.provisioner in ("", NO_PROVISIONER):
        return _refusal(claim, storage_class, Reason.NO_MATCHING_VOLUME)
    if not TopologySelector.of(storage_class.allowed_topologies).matches(node.labels):
        return _refusal(claim, storage_class, _topology_reason(storage_class, node))
    return _judge_capacity(claim, storage_class, node, view)


def _refusal(claim: PersistentVolumeClaim, storage_class: StorageClass, reason: Reason) -> Finding:
    return Finding(
        reason=reason,
        sentence=Sentence.NO_VOLUME,
        claim=claim.key,
        about=seen_class(storage_class.name),
        wanted=size_of(claim.spec.resources.requests).value,
    )


def _topology_reason(storage_class: StorageClass, node: Node) -> Reason:
    """A node without any of the labels is not outside: nobody has said where it is."""
    keys = {
        label.key
        for term in storage_class.allowed_topologies
        for label in term.match_label_expressions
    }
    if keys and keys.isdisjoint(node.labels):
        return Reason.TOPOLOGY_KEY_MISSING
    return Reason.OUTSIDE_ALLOWED_TOPOLOGIES


def _judge_capacity(
    claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node, view: ClusterView
) -> DynamicProvision | Finding:
    """Each claim by itself: two that fit alone may not fit together."""
    driver = view.csi_driver(storage_class.provisioner)
    if driver is None or not driver.spec.storage_capacity:
        return DynamicProvision(claim)
    if "storage" not in claim.spec.resources.requests:
        return DynamicProvision(claim)
    wanted = size_of(claim.spec.resources.requests).value
    published = view.capacities_of_class(storage_class.name)
    reachable = [capacity for capacity in published if is_in_segment(node.labels, capacity)]
    for capacity in reachable:
        limit = largest_volume(capacity)
        if limit is not None and limit.value >= wanted:
            return DynamicProvision(claim, capacity)
    if not reachable:
        reason = _unpublished_reason(storage_class, published, node, view)
        return _no_space(claim, reason, seen_class(storage_class.name), None)
    return _too_small(claim, reachable)


def is_in_segment(node_labels: Mapping[str, str], capacity: CSIStorageCapacity) -> bool:
    """A selector that cannot be read, or is missing, selects no node."""
    try:
        return LabelSelector.of(capacity.node_topology).matches(node_labels)
    except ValueError:
        return False


def largest_volume(capacity: CSIStorageCapacity) -> Quantity | None:
    """The size of the largest volume that can be made; None: unknown, so none can."""
    text = capacity.maximum_volume_size
    if text is None:
        text = capacity.capacity
    return None if text is None else parse_quantity(text)


def _too_small(claim: PersistentVolumeClaim, reachable: Sequence[CSIStorageCapacity]) -> Finding:
    known = [(limit.value, c.key) for c in reachable if (limit := largest_volume(c)) is not None]
    if not known:
        # An object without a number says where there may be room, not how much.
        about = SeenObject("CSIStorageCapacity", reachable[0].key)
        return _no_space(claim, Reason.NO_CAPACITY_PUBLISHED, about, None)
    seen, key = max(known)
    reason = Reason.CAPACITY_TOO_SMALL if seen else Reason.CAPACITY_ZERO
    return _no_space(claim, reason, SeenObject("CSIStorageCapacity", key), seen)


def _no_space(
    claim: PersistentVolumeClaim, reason: Reason, about: SeenObject, seen: int | None
) -> Finding:
    return Finding(
        reason=reason,
        sentence=Sentence.NO_SPACE,
        claim=claim.key,
        about=about,
        wanted=size_of(claim.spec.resources.requests).value,
        seen=seen,
    )


def _unpublished_reason(
    storage_class: StorageClass,
    published: Sequence[CSIStorageCapacity],
    node: Node,
    view: ClusterView,
) -> Reason:
    """The nearest cause of no capacity object being about this node."""
    csi_node = view.csi_node(node.name)
    if csi_node is not None and csi_node.find_driver(storage_class.provisioner) is None:
        return Reason.DRIVER_NOT_ON_NODE
    keys: set[str] = set()
    for capacity in published:
        if topology := capacity.node_topology:
            keys |= topology.match_labels.keys()
            keys |= {expression.key for expression in topology.match_expressions}
    if keys and keys.isdisjoint(node.labels):
        return Reason.TOPOLOGY_KEY_MISSING
    return Reason.NO_CAPACITY_PUBLISHED
