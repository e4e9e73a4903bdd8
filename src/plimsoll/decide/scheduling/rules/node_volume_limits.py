"""How many volumes of each driver a node can have attached.

Volumes are told apart by driver and handle, whoever uses them: one that a pod of the node uses
already costs nothing more. One that is still to be made, or whose PersistentVolume is not known,
stands for itself.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod, PodVolume
from plimsoll.api.storage import CSINode
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.claims.protection import is_for_pod
from plimsoll.decide.csi.in_tree import TRANSLATED, inline_source, plugin_of, translated
from plimsoll.decide.csi.migration import DRIVER_BY_PLUGIN
from plimsoll.decide.scheduling.reasons import (
    FIT,
    NOT_CONCERNED,
    Finding,
    Judgement,
    Reason,
    SeenObject,
    Sentence,
    Undecided,
    failed,
    unresolvable,
    unschedulable,
)
from plimsoll.decide.scheduling.rules.volume_binding.claims import not_owned_finding
from plimsoll.decide.scheduling.view import ClusterView


class Attachable(NamedTuple):
    """A volume as its driver knows it."""

    driver: str
    handle: str | ObjectKey
    """The key of the claim, as long as there is no volume for it."""


def can_be_limited(volume: PodVolume) -> bool:
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or plugin_of(volume) is not None
    )


def prepare(pod: Pod) -> Judgement:
    concerned = any(can_be_limited(volume) for volume in pod.spec.volumes)
    return FIT if concerned else NOT_CONCERNED


def judge(pod: Pod, node: str, view: ClusterView, *, demands_drivers: bool = True) -> Judgement:
    """With `demands_drivers` a driver can ask that its pods go only where it is installed."""
    csi_node = view.csi_node(node)
    try:
        new = attachables(pod, csi_node, view, is_new=True)
        if demands_drivers and (finding := _find_missing_driver(new, csi_node, view)):
            return unschedulable(finding)
        limits = volume_limits(csi_node)
        if not new or not limits:
            return FIT
        used = _used_by_pods(view.pods_on(node), csi_node, view)
    except Undecided as undecided:
        return undecided.judgement
    attached = used | attached_to(node, view)
    findings = _over_limit(new - used, attached, limits, node)
    return unschedulable(*findings) if findings else FIT


def volume_limits(csi_node: CSINode | None) -> dict[str, int]:
    """By driver; one without a limit is not in it."""
    drivers = (csi_node.spec.drivers if csi_node else None) or ()
    return {
        driver.name: driver.allocatable.count
        for driver in drivers
        if driver.allocatable and driver.allocatable.count is not None
    }


def attached_to(node: str, view: ClusterView) -> frozenset[Attachable]:
    """What is attached or about to be, even if no pod on the node uses it (any more)."""
    found = set()
    for attachment in view.attachments_to(node):
        name = attachment.spec.source.persistent_volume_name
        volume = view.volume(name) if name is not None else None
        if attachment.spec.attacher and volume and volume.spec.csi:
            found.add(Attachable(attachment.spec.attacher, volume.spec.csi.volume_handle))
    return frozenset(found)


def attachables(
    pod: Pod, csi_node: CSINode | None, view: ClusterView, *, is_new: bool
) -> frozenset[Attachable]:
    """The volumes that the pod needs on a node.

    Raises Undecided where a claim of a new pod is missing, and where one is not the pod's.
    """
    found: set[Attachable | None] = set()
    for volume in pod.spec.volumes:
        key = pod.claim_of(volume)
        if key is None:
            found.add(_inline(volume, csi_node))
        elif claim := _claim(pod, volume, view, is_new=is_new):
            found.add(_of_claim(claim, csi_node, view))
    return frozenset(attachable for attachable in found if attachable)


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


def _claim(
    pod: Pod, volume: PodVolume, view: ClusterView, *, is_new: bool
) -> PersistentVolumeClaim | None:
    key = pod.claim_of(volume) or ObjectKey("", "")
    if not key.name:
        sentence = "PersistentVolumeClaim had no name"
        raise Undecided(failed(Finding(reason=Reason.CLAIM_IS_INVALID, sentence=sentence)))
    claim = view.claim(key)
    if claim is None and is_new:
        sentence = f'looking up PVC {key}: persistentvolumeclaim "{key.name}" not found'
        finding = Finding(reason=Reason.CLAIM_NOT_FOUND, sentence=sentence, claim=key)
        raise Undecided(unresolvable(finding))
    if claim and volume.persistent_volume_claim is None and not is_for_pod(claim, pod):
        raise Undecided(failed(not_owned_finding(pod, key)))
    return claim


def _inline(volume: PodVolume, csi_node: CSINode | None) -> Attachable | None:
    if csi_node is None or plugin_of(volume) not in TRANSLATED:
        return None
    try:
        source = inline_source(volume)
    except ValueError as error:
        sentence = f"converting volume({volume.name}) from inline to csi: {error}"
        finding = Finding(reason=Reason.VOLUME_NOT_TRANSLATABLE, sentence=sentence)
        raise Undecided(failed(finding)) from error
    return Attachable(source.driver, source.volume_handle) if source else None


def _of_claim(
    claim: PersistentVolumeClaim, csi_node: CSINode | None, view: ClusterView
) -> Attachable | None:
    """None: nobody counts it."""
    volume = view.volume(claim.spec.volume_name) if claim.spec.volume_name else None
    if volume is None:
        return _of_class(claim, csi_node, view)
    source = volume.spec.csi
    if source is None and csi_node is not None:
        try:
            source = translated(volume).spec.csi
        except ValueError:
            return None
    if source is None or not source.driver or not source.volume_handle:
        return None
    return Attachable(source.driver, source.volume_handle)


def _of_class(
    claim: PersistentVolumeClaim, csi_node: CSINode | None, view: ClusterView
) -> Attachable | None:
    storage_class = view.storage_class(claim.storage_class)
    if storage_class is None or not storage_class.provisioner:
        return None
    name = storage_class.provisioner
    if name in DRIVER_BY_PLUGIN:
        if csi_node is None or name not in TRANSLATED:
            return None
        name = DRIVER_BY_PLUGIN[name]
    return Attachable(name, claim.key)
