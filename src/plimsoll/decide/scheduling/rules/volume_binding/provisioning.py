"""Whether a new volume can be provisioned for a claim so that a node reaches it.

The topologies that the class allows decide, and the capacity that was published for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.selectors.topology import TopologySelector
from plimsoll.api.storage import CSIStorageCapacity, StorageClass
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.claims.match import size_of
from plimsoll.decide.scheduling.columns.capacity import (
    NOT_PUBLISHED,
    ClassCapacity,
    largest_volume,
)
from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.labels import topology_terms
from plimsoll.decide.scheduling.columns.nodes import Slots
from plimsoll.decide.scheduling.flags import Blocked, Flags, flags_of
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
KEPT_CLASSES = 256
NONE, TOO_SMALL, ZERO, UNPUBLISHED = map(
    np.uint64,
    (0, Blocked.DELAYED_TOO_SMALL, Blocked.DELAYED_ZERO, Blocked.DELAYED_UNPUBLISHED),
)


@dataclass(frozen=True, slots=True)
class DynamicProvision:
    """A new volume is to be provisioned for the claim."""

    claim: PersistentVolumeClaim
    capacity: CSIStorageCapacity | None = None
    """That is large enough for it; None: the driver publishes no capacity."""


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
        wanted=claim.spec.requested_bytes,
    )


def _topology_reason(storage_class: StorageClass, node: Node) -> Reason:
    """A node without any of the labels is not outside: where it is was not said."""
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


def _too_small(claim: PersistentVolumeClaim, reachable: Sequence[CSIStorageCapacity]) -> Finding:
    known = [(limit.value, c.key) for c in reachable if (limit := largest_volume(c)) is not None]
    if not known:
        # An object without a number says where there may be capacity, not how much.
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
        wanted=claim.spec.requested_bytes,
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


# All nodes at once


class ProvisioningQuery(NamedTuple):
    """A volume to be provisioned."""

    class_name: str
    size: int
    is_sized: bool
    """Whether the claim asks for any size at all."""


class ProvisioningFit(NamedTuple):
    """For the slots that were asked about, in their order."""

    flags: Flags | None
    """None: a volume can be provisioned everywhere."""
    capacities: NDArray[np.int64] | None
    """What the nodes have in all where the volume would be taken; None: unknown everywhere."""


class ProvisioningColumns:
    """The rule, with what it remembers of each class."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._outside: KeptResults[tuple[object, ...], Flags] = KeptResults(KEPT_CLASSES)
        self._unpublished: KeptResults[tuple[object, ...], Flags] = KeptResults(KEPT_CLASSES)

    def judge(self, request: ProvisioningQuery, at: Slots | slice) -> ProvisioningFit:
        columns = self._columns
        length = columns.index.size if isinstance(at, slice) else len(at)
        storage_class = columns.classes.get(request.class_name)
        if storage_class is None or storage_class.provisioner in ("", NO_PROVISIONER):
            return ProvisioningFit(np.full(length, Blocked.DELAYED_NO_VOLUME, np.uint64), None)
        flags, capacities = self._short(request, storage_class, at)
        if storage_class.allowed_topologies:
            outside = self._outside_of(storage_class)[at]
            flags = np.where(outside == 0, np.uint64(0) if flags is None else flags, outside)
        return ProvisioningFit(flags, capacities)

    def is_possible(self, request: ProvisioningQuery, slot: int) -> bool:
        flags = self.judge(request, np.array([slot], np.intp)).flags
        return flags is None or not flags[0]

    def provision(
        self, claim: PersistentVolumeClaim, request: ProvisioningQuery, slot: int
    ) -> DynamicProvision:
        """On a node that passed."""
        return DynamicProvision(claim, self.find_capacity(request, slot))

    def find_capacity(self, request: ProvisioningQuery, slot: int) -> CSIStorageCapacity | None:
        """Of which a volume on a node that passed would be taken; None: it is not published."""
        storage_class = self._columns.classes.get(request.class_name)
        if storage_class is None or not self.is_tracked(request):
            return None
        published = self._columns.capacity.by_class.get(request.class_name)
        return None if published is None else published.find(slot, request.size)

    def is_tracked(self, request: ProvisioningQuery) -> bool:
        """Whether the driver publishes its capacity for such a volume."""
        storage_class = self._columns.classes.get(request.class_name)
        driver = self._columns.drivers.get(storage_class.provisioner) if storage_class else None
        return bool(request.is_sized and driver and driver.spec.storage_capacity)

    def _short(
        self, request: ProvisioningQuery, storage_class: StorageClass, at: Slots | slice
    ) -> tuple[Flags | None, NDArray[np.int64] | None]:
        """Where there is not enough capacity (None: nowhere), and what there is in all."""
        if not self.is_tracked(request):
            return None, None
        published = self._columns.capacity.by_class.get(request.class_name)
        if published is None:
            return self._unpublished_for(storage_class, None)[at].copy(), None
        largest, capacities = published.read(request.size, at)
        is_short = largest < request.size
        if not np.logical_or.reduce(is_short):
            return None, capacities
        why = np.where(largest > 0, TOO_SMALL, np.where(largest == 0, ZERO, UNPUBLISHED))
        flags: Flags = np.where(is_short, why, NONE)
        is_silent = largest == NOT_PUBLISHED
        if is_silent.any():
            flags = np.where(is_silent, self._unpublished_for(storage_class, published)[at], flags)
        return flags, capacities

    def _outside_of(self, storage_class: StorageClass) -> Flags:
        columns = self._columns
        name = storage_class.metadata.name
        key = (name, columns.classes_stamp, columns.labels.stamp, columns.index.size)
        found = self._outside.get(key)
        if found is None:
            found = self._outside.keep(key, self._read_topologies(storage_class))
        return found

    def _read_topologies(self, storage_class: StorageClass) -> Flags:
        columns, size = self._columns, self._columns.index.size
        keys = {
            label.key
            for term in storage_class.allowed_topologies
            for label in term.match_label_expressions
        }
        alive = columns.index.alive
        outside = alive & ~columns.labels.matching(topology_terms(storage_class.allowed_topologies))
        keyless = alive & ~columns.labels.having_any(keys) if keys else 0
        parts = (
            (Blocked.DELAYED_TOPOLOGY, outside & ~keyless),
            (Blocked.DELAYED_NO_TOPOLOGY, outside & keyless),
        )
        return flags_of(parts, size)

    def _unpublished_for(
        self, storage_class: StorageClass, published: ClassCapacity | None
    ) -> Flags:
        columns = self._columns
        keys = frozenset[str]() if published is None else published.keys
        key = (
            storage_class.metadata.name,
            columns.classes_stamp,
            columns.labels.stamp,
            columns.attach.stamp,
            keys,
            columns.index.size,
        )
        found = self._unpublished.get(key)
        if found is None:
            found = self._unpublished.keep(key, self._read_unpublished(storage_class, keys))
        return found

    def _read_unpublished(self, storage_class: StorageClass, keys: frozenset[str]) -> Flags:
        """Why no capacity is about a node, for all nodes, whether one is or not."""
        columns = self._columns
        alive, attach = columns.index.alive, columns.attach
        lacking = alive & attach.present & ~attach.installed.get(storage_class.provisioner, 0)
        keyless = alive & ~lacking & ~columns.labels.having_any(keys) if keys else 0
        parts = (
            (Blocked.DELAYED_DRIVER, lacking),
            (Blocked.DELAYED_NO_SEGMENT, keyless),
            (Blocked.DELAYED_UNPUBLISHED, alive & ~lacking & ~keyless),
        )
        return flags_of(parts, columns.index.size)
