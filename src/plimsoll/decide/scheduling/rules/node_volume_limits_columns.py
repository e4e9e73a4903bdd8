"""Nodes that cannot attach what a pod needs, and nodes on which others mount its disks."""

from collections.abc import Iterator

from plimsoll.api.pods import Pod
from plimsoll.api.storage import CSINode
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import mask_of
from plimsoll.decide.scheduling.columns.pods import exclusive_disks
from plimsoll.decide.scheduling.flags import Blocked, Flags, flagged
from plimsoll.decide.scheduling.reasons import Undecided
from plimsoll.decide.scheduling.rules.node_volume_limits import Attachable, attachables
from plimsoll.decide.scheduling.rules.volume_restrictions import SinglePodClaims, find_disk_conflict

ANY_CSI_NODE = CSINode()
"""Whether a node has one matters for what volumes count, not what it says."""


def disk_conflicts(pod: Pod, columns: Columns) -> int:
    """Nodes, as bits, on which another pod mounts a disk of this one."""
    names = {name for disk in exclusive_disks(pod) for name in columns.pods.nodes_with(disk)}
    found = 0
    for name in names:
        slot = columns.index.find(name)
        if slot is not None and find_disk_conflict(pod, columns.pods_on(name)):
            found |= 1 << slot
    return found


def restricted(
    pod: Pod, claims: SinglePodClaims, columns: Columns
) -> Iterator[tuple[Blocked, int]]:
    disks = disk_conflicts(pod, columns)
    yield Blocked.DISK, disks
    if claims.uses > 0:
        yield Blocked.SINGLE_POD, columns.index.alive & ~disks


class Limits:
    """The rule about attach limits, for one pod."""

    def __init__(self, pod: Pod, columns: Columns) -> None:
        self._columns = columns
        alive = columns.index.alive
        self._with_csi = columns.attach.present & alive
        self._without_csi = alive & ~self._with_csi
        self._unreadable = 0
        self._new: frozenset[Attachable] = frozenset()
        if self._with_csi:
            try:
                self._new = attachables(pod, ANY_CSI_NODE, columns, is_new=True)
            except Undecided:
                self._unreadable = self._with_csi
        self._plain: frozenset[Attachable] = frozenset()
        if self._without_csi:
            self._plain = attachables(pod, None, columns, is_new=True)

    def missing_drivers(self) -> list[tuple[str, int]]:
        """Drivers that must be on the pod's node, and nodes that miss them, by the first."""
        found = []
        left = ~self._unreadable
        for name in sorted({volume.driver for volume in self._new | self._plain}):
            driver = self._columns.csi_driver(name)
            if driver is None or not driver.spec.prevent_pod_scheduling_if_missing:
                continue
            missing = 0
            if any(volume.driver == name for volume in self._new):
                missing |= self._with_csi & ~self._columns.attach.installed(name)
            if any(volume.driver == name for volume in self._plain):
                missing |= self._without_csi
            found.append((name, missing & left))
            left &= ~missing
        return found

    def blocked(self) -> Flags | None:
        """None: nowhere."""
        size, attach = self._columns.index.size, self._columns.attach
        missing = 0
        for _, bits in self.missing_drivers():
            missing |= bits
        counted = self._with_csi & attach.limited & ~self._unreadable & ~missing
        parts = [(Blocked.LIMIT_UNREADABLE, self._unreadable), (Blocked.LIMIT_DRIVER, missing)]
        if self._new:
            for flag, bit in self._troubles():
                parts.append((flag, bit & counted))
                counted &= ~bit
        found: Flags | None = None
        for flag, bits in parts:
            if bits:
                part = flagged(mask_of(bits, size), flag)
                found = part if found is None else found | part
        if counted and any(attach.is_limited(volume.driver) for volume in self._new):
            full = attach.exceeding_limits(self._new)
            if full.any():
                part = flagged(full & mask_of(counted, size), Blocked.LIMIT_REACHED)
                found = part if found is None else found | part
        return found

    def _troubles(self) -> Iterator[tuple[Blocked, int]]:
        for name, flag in self._columns.held.troubles():
            slot = self._columns.index.find(name)
            if slot is not None:
                yield flag, 1 << slot
