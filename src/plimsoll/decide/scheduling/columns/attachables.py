"""The volumes that pods have attached to their nodes, as drivers count them.

Volumes are told apart by driver and handle: one that several pods of a node use is counted once.
One that is still to be provisioned, or whose PersistentVolume is not known, stands for itself.
"""

from typing import NamedTuple

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod, PodVolume
from plimsoll.api.storage import CSINode
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.claims.protection import is_for_pod
from plimsoll.decide.csi.in_tree import TRANSLATED, inline_source, plugin_of, translated
from plimsoll.decide.csi.migration import DRIVER_BY_PLUGIN
from plimsoll.decide.scheduling.reasons import (
    Finding,
    Reason,
    Undecided,
    failed,
    not_owned_finding,
    unresolvable,
)
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


def volume_limits(csi_node: CSINode | None) -> dict[str, int]:
    """By driver; one without a limit is not in it."""
    drivers = (csi_node.spec.drivers if csi_node else None) or ()
    return {
        driver.name: driver.allocatable.count
        for driver in drivers
        if driver.allocatable and driver.allocatable.count is not None
    }


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
            continue
        claim = view.claim(key)
        _check_claim(pod, volume, key, claim, is_new=is_new)
        if claim is not None:
            found.add(_of_claim(claim, csi_node, view))
    return frozenset(attachable for attachable in found if attachable)


def _check_claim(
    pod: Pod,
    volume: PodVolume,
    key: ObjectKey,
    claim: PersistentVolumeClaim | None,
    *,
    is_new: bool,
) -> None:
    if not key.name:
        sentence = "PersistentVolumeClaim had no name"
        raise Undecided(failed(Finding(reason=Reason.CLAIM_IS_INVALID, sentence=sentence)))
    if claim is None and is_new:
        sentence = f'looking up PVC {key}: persistentvolumeclaim "{key.name}" not found'
        finding = Finding(reason=Reason.CLAIM_NOT_FOUND, sentence=sentence, claim=key)
        raise Undecided(unresolvable(finding))
    if claim and volume.persistent_volume_claim is None and not is_for_pod(claim, pod):
        raise Undecided(failed(not_owned_finding(pod.key, key)))


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
    """None: it does not count."""
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
    return Attachable(name, ObjectKey(claim.metadata.namespace, claim.metadata.name))
