"""On which nodes a volume could be made for a claim: by the topologies that its class allows, and
by the capacity that was published for it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.storage import CSIStorageCapacity, StorageClass
from plimsoll.decide.scheduling.columns.capacity import NOT_PUBLISHED, UNKNOWN, ClassCapacity
from plimsoll.decide.scheduling.columns.changes import KeptResult
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.labels import topology_terms
from plimsoll.decide.scheduling.columns.nodes import mask_of
from plimsoll.decide.scheduling.flags import (
    Blocked,
    Flags,
    Slots,
    flagged,
    length_of,
    no_flags,
)
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import NO_PROVISIONER

KEPT_CLASSES = 256


class ProvisioningQuery(NamedTuple):
    """A volume to be made."""

    class_name: str
    size: int
    is_sized: bool
    """Whether the claim asks for any size at all."""


class ProvisioningColumns:
    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._outside: KeptResult[tuple[object, ...], Flags] = KeptResult(KEPT_CLASSES)
        self._unpublished: KeptResult[tuple[object, ...], Flags] = KeptResult(KEPT_CLASSES)

    def blocked(self, request: ProvisioningQuery, at: Slots | slice) -> Flags:
        """For the slots `at`, in their order."""
        storage_class = self._columns.storage_class(request.class_name)
        length = length_of(at, self._columns.index.size)
        if storage_class is None or storage_class.provisioner in ("", NO_PROVISIONER):
            return np.full(length, Blocked.DELAYED_NO_VOLUME, np.uint64)
        short = self._short(request, storage_class, at)
        if not storage_class.allowed_topologies:
            return no_flags(length) if short is None else short
        outside = self._outside_of(storage_class)[at]
        return outside if short is None else np.where(outside == 0, short, outside)

    def is_tracked(self, request: ProvisioningQuery) -> bool:
        """Whether anybody keeps account of the room for such a volume."""
        storage_class = self._columns.storage_class(request.class_name)
        driver = storage_class and self._columns.csi_driver(storage_class.provisioner)
        return bool(request.is_sized and driver and driver.spec.storage_capacity)

    def capacities(self, request: ProvisioningQuery, at: Slots | slice) -> NDArray[np.int64] | None:
        """What the nodes have in all where the volume would be made; None: unknown everywhere."""
        published = self._columns.capacity.of_class(request.class_name)
        if published is None or not self.is_tracked(request):
            return None
        return published.capacities(request.size)[published.cells.of[at]]

    def find_capacity(self, request: ProvisioningQuery, slot: int) -> CSIStorageCapacity | None:
        published = self._columns.capacity.of_class(request.class_name)
        if published is None or not self.is_tracked(request):
            return None
        return published.find(int(published.cells.of[slot]), request.size)

    def _short(
        self, request: ProvisioningQuery, storage_class: StorageClass, at: Slots | slice
    ) -> Flags | None:
        """Where there is not enough room; None: nowhere."""
        if not self.is_tracked(request):
            return None
        published = self._columns.capacity.of_class(request.class_name)
        if published is None:
            return self._unpublished_for(storage_class, None)[at]
        largest = published.largest()[published.cells.of[at]]
        is_short = largest < request.size
        # A request for nothing still wants to know that there is room for nothing.
        if not request.size:
            is_short = largest < 0
        if not is_short.any():
            return None
        flags = flagged(is_short & (largest > 0), Blocked.DELAYED_TOO_SMALL)
        flags |= flagged(is_short & (largest == 0), Blocked.DELAYED_ZERO)
        flags |= flagged(is_short & (largest == UNKNOWN), Blocked.DELAYED_UNPUBLISHED)
        nobody = largest == NOT_PUBLISHED
        if nobody.any():
            flags = np.where(nobody, self._unpublished_for(storage_class, published)[at], flags)
        return flags

    def _outside_of(self, storage_class: StorageClass) -> Flags:
        columns = self._columns
        key = (storage_class.name, columns.classes_stamp, columns.labels.stamp, columns.index.size)
        return self._outside.get(key, lambda: self._read_topologies(storage_class))

    def _read_topologies(self, storage_class: StorageClass) -> Flags:
        columns, size = self._columns, self._columns.index.size
        keys = {
            label.key
            for term in storage_class.allowed_topologies
            for label in term.match_label_expressions
        }
        alive = columns.index.alive
        outside = alive & ~columns.labels.matching(topology_terms(storage_class.allowed_topologies))
        silent = alive & ~columns.labels.having_any(keys) if keys else 0
        return flagged(mask_of(outside & ~silent, size), Blocked.DELAYED_TOPOLOGY) | flagged(
            mask_of(outside & silent, size), Blocked.DELAYED_NO_TOPOLOGY
        )

    def _unpublished_for(
        self, storage_class: StorageClass, published: ClassCapacity | None
    ) -> Flags:
        columns = self._columns
        key = (
            storage_class.name,
            columns.classes_stamp,
            columns.labels.stamp,
            columns.attach.stamp,
            published and published.keys,
            columns.index.size,
        )
        return self._unpublished.get(key, lambda: self._read_silence(storage_class, published))

    def _read_silence(self, storage_class: StorageClass, published: ClassCapacity | None) -> Flags:
        """Why no capacity is about a node, for all nodes, whether one is or not."""
        columns, size = self._columns, self._columns.index.size
        keys = published.keys if published else frozenset[str]()
        alive, attach = columns.index.alive, columns.attach
        lacking = alive & attach.present & ~attach.installed(storage_class.provisioner)
        keyless = alive & ~lacking & ~columns.labels.having_any(keys) if keys else 0
        rest = alive & ~lacking & ~keyless
        return (
            flagged(mask_of(lacking, size), Blocked.DELAYED_DRIVER)
            | flagged(mask_of(keyless, size), Blocked.DELAYED_NO_SEGMENT)
            | flagged(mask_of(rest, size), Blocked.DELAYED_UNPUBLISHED)
        )
