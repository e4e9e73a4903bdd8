"""NodeVolumeLimits: how many volumes of each driver a node can have attached.

A volume that a pod of the node uses already costs nothing more. A driver can also demand that its
pods go only to nodes where it is installed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod, PodVolume
from plimsoll.api.storage import CSINode
from plimsoll.decide.scheduling.columns.attachables import (
    Attachable,
    attachables,
    can_be_limited,
    volume_limits,
)
from plimsoll.decide.scheduling.columns.attachments import TIGHT
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import mask_of
from plimsoll.decide.scheduling.flags import Blocked, Flags, flagged, flags_of
from plimsoll.decide.scheduling.reasons import (
    FIT,
    NOT_CONCERNED,
    Finding,
    Judgement,
    Reason,
    SeenObject,
    Sentence,
    Undecided,
    unschedulable,
)
from plimsoll.decide.scheduling.view import ClusterView

ANY_CSI_NODE = CSINode()
"""Whether a node has one matters for what volumes count, not what it says."""


def prepare(pod: Pod) -> Judgement:
    concerned = any(can_be_limited(volume) for volume in pod.spec.volumes)
    return FIT if concerned else NOT_CONCERNED


def judge(
    pod: Pod,
    node: str,
    view: ClusterView,
    *,
    others: Iterable[Pod] | None = None,
    demands_drivers: bool = True,
) -> Judgement:
    """`others` are the pods on the node; None: those that the view shows there. With
    `demands_drivers` a driver can ask that its pods go only where it is installed."""
    csi_node = view.csi_node(node)
    try:
        new = attachables(pod, csi_node, view, is_new=True)
        if demands_drivers and (finding := _find_missing_driver(new, csi_node, view)):
            return unschedulable(finding)
        limits = volume_limits(csi_node)
        if not new or not limits:
            return FIT
        used = _used_by_pods(view.pods_on(node) if others is None else others, csi_node, view)
    except Undecided as undecided:
        return undecided.judgement
    attached = used | attached_to(node, view)
    findings = _over_limit(new - used, attached, limits, node)
    return unschedulable(*findings) if findings else FIT


def attached_to(node: str, view: ClusterView) -> frozenset[Attachable]:
    """What is attached or about to be, even if no pod on the node uses it (any more)."""
    found = set()
    for attachment in view.attachments_to(node):
        name = attachment.spec.source.persistent_volume_name
        volume = view.volume(name) if name is not None else None
        if attachment.spec.attacher and volume and volume.spec.csi:
            found.add(Attachable(attachment.spec.attacher, volume.spec.csi.volume_handle))
    return frozenset(found)


def _used_by_pods(
    pods: Iterable[Pod], csi_node: CSINode | None, view: ClusterView
) -> frozenset[Attachable]:
    used: set[Attachable] = set()
    for pod in pods:
        used |= attachables(pod, csi_node, view, is_new=False)
    return frozenset(used)


def _over_limit(
    new: frozenset[Attachable],
    attached: frozenset[Attachable],
    limits: dict[str, int],
    node: str,
) -> list[Finding]:
    """A new volume that is attached, but used by no pod, counts twice: it may be on its way out."""
    wanted = Counter(volume.driver for volume in new)
    used = Counter(volume.driver for volume in attached)
    return [
        Finding(
            reason=Reason.ATTACH_LIMIT_REACHED,
            sentence=Sentence.VOLUME_COUNT,
            about=SeenObject("CSINode", ObjectKey("", node)),
            wanted=used[driver] + number,
            seen=limits[driver],
        )
        for driver, number in sorted(wanted.items())
        if driver in limits and used[driver] + number > limits[driver]
    ]


def _find_missing_driver(
    new: frozenset[Attachable], csi_node: CSINode | None, view: ClusterView
) -> Finding | None:
    for name in sorted({volume.driver for volume in new}):
        driver = view.csi_driver(name)
        is_strict = driver is not None and driver.spec.prevent_pod_scheduling_if_missing
        if is_strict and (csi_node is None or csi_node.find_driver(name) is None):
            return Finding(
                reason=Reason.DRIVER_NOT_ON_NODE,
                sentence=f"{name} CSI driver is not installed on the node",
                about=SeenObject("CSIDriver", ObjectKey("", name)),
            )
    return None


# All nodes at once


def blocked(pod: Pod, columns: Columns) -> Flags | None:
    """The flags of all nodes by slot; None: no node is blocked. The claims of the pod must be
    known."""
    concerned = [volume for volume in pod.spec.volumes if can_be_limited(volume)]
    if not concerned:
        return None
    is_few = len(concerned) <= TIGHT and not any(map(_is_inline, concerned))
    if is_few and not _limits_few(columns):
        return None
    return LimitColumns(pod, columns).blocked()


def _limits_few(columns: Columns) -> bool:
    """Whether some node may not do for a few volumes: it cannot have so many more, or volumes
    cannot be counted there, or a driver demands to be there."""
    if columns.attach.is_tight or columns.held.has_troubles:
        return True
    drivers = columns.drivers.values()
    return any(driver.spec.prevent_pod_scheduling_if_missing for driver in drivers)


def _is_inline(volume: PodVolume) -> bool:
    """One that may be unreadable, which counts even where nothing is limited."""
    return volume.persistent_volume_claim is None and volume.ephemeral is None


class LimitColumns:
    """The rule for one pod."""

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
            driver = self._columns.drivers.get(name)
            if driver is None or not driver.spec.prevent_pod_scheduling_if_missing:
                continue
            missing = 0
            if any(volume.driver == name for volume in self._new):
                missing |= self._with_csi & ~self._columns.attach.installed.get(name, 0)
            if any(volume.driver == name for volume in self._plain):
                missing |= self._without_csi
            found.append((name, missing & left))
            left &= ~missing
        return found

    def blocked(self) -> Flags | None:
        """The flags of all nodes by slot; None: no node is blocked."""
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
        found = flags_of(parts, size) if any(bits for _, bits in parts) else None
        if counted and any(attach.is_limited(volume.driver) for volume in self._new):
            full = attach.exceeding_limits(self._new)
            if full is not None and full.any():
                part = flagged(full & mask_of(counted, size), Blocked.LIMIT_REACHED)
                found = part if found is None else found | part
        return found

    def _troubles(self) -> Iterator[tuple[Blocked, int]]:
        for name, flag in self._columns.held.troubles():
            slot = self._columns.index.find(name)
            if slot is not None:
                yield flag, 1 << slot
