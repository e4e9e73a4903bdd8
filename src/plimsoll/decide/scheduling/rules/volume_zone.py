"""VolumeZone: volumes that carry zone or region labels are used by nodes of these zones and regions
only.

The older labels still count; on a volume they also match a node that has only the newer ones. A
node without any such label is in a cluster of one zone, and can use everything.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.csi.in_tree import BETA_REGION, BETA_ZONE, REGION, SEVERAL, ZONE
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.labels import LabelIndex
from plimsoll.decide.scheduling.reasons import (
    FIT,
    NOT_CONCERNED,
    Finding,
    Judgement,
    Reason,
    Sentence,
    seen_class,
    seen_volume,
    unresolvable,
)
from plimsoll.decide.scheduling.view import ClusterView, claim_names

ZONE_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
NEWER = {BETA_ZONE: ZONE, BETA_REGION: REGION}


@dataclass(frozen=True, slots=True)
class ZoneDemand:
    """A volume wants its node to have one of these values under a label."""

    volume: str
    label: str
    values: frozenset[str]


def zone_demands(volume: PersistentVolume) -> tuple[ZoneDemand, ...]:
    found = ((label, volume.labels.get(label)) for label in ZONE_LABELS)
    values = ((label, _values(text)) for label, text in found if text is not None)
    return tuple(ZoneDemand(volume.name, label, any_of) for label, any_of in values if any_of)


def _values(text: str) -> frozenset[str]:
    """None where one of several is empty: then nothing of the label can be trusted."""
    values = [value.strip() for value in text.split(SEVERAL)]
    return frozenset(values) if all(values) else frozenset()


def prepare(pod: Pod, view: ClusterView) -> tuple[ZoneDemand, ...] | Judgement:
    """What all volumes of the pod demand, or a judgement that holds on every node."""
    demands: list[ZoneDemand] = []
    for name in claim_names(pod):
        volume = _volume_of(ObjectKey(pod.metadata.namespace, name), view)
        if isinstance(volume, Finding):
            return unresolvable(volume)
        if volume is not None:
            demands += zone_demands(volume)
    return tuple(demands) or NOT_CONCERNED


def judge(demands: tuple[ZoneDemand, ...], node: Node) -> Judgement:
    if not any(label in node.labels for label in ZONE_LABELS):
        return FIT
    for demand in demands:
        newer = node.labels.get(NEWER.get(demand.label, demand.label))
        if node.labels.get(demand.label, newer) not in demand.values:
            about = seen_volume(demand.volume)
            return unresolvable(
                Finding(reason=Reason.VOLUME_ZONE_CONFLICT, sentence=Sentence.ZONE, about=about)
            )
    return FIT


def _volume_of(key: ObjectKey, view: ClusterView) -> PersistentVolume | Finding | None:
    """None where the node is to be chosen before the volume."""
    if not key.name:
        sentence = "PersistentVolumeClaim had no name"
        return Finding(reason=Reason.CLAIM_IS_INVALID, sentence=sentence)
    claim = view.claim(key)
    if claim is None:
        sentence = f'persistentvolumeclaim "{key.name}" not found'
        return Finding(reason=Reason.CLAIM_NOT_FOUND, sentence=sentence, claim=key)
    name = claim.spec.volume_name
    if not name:
        return _against_unbound(claim, view)
    volume = view.volume(name)
    if volume is not None:
        return volume
    sentence = f'persistentvolume "{name}" not found'
    about = seen_volume(name)
    return Finding(reason=Reason.VOLUME_NOT_FOUND, sentence=sentence, claim=key, about=about)


def _against_unbound(claim: PersistentVolumeClaim, view: ClusterView) -> Finding | None:
    name = claim.storage_class
    storage_class = view.storage_class(name) if name else None
    if storage_class is not None and storage_class.waits_for_consumer:
        return None
    about = seen_class(name) if name else None
    if not name:
        reason = Reason.UNBOUND_IMMEDIATE_CLAIM
        sentence = "PersistentVolumeClaim had no pv name and storageClass name"
    elif storage_class is None:
        reason = Reason.CLASS_NOT_FOUND
        sentence = f'storageclass.storage.k8s.io "{name}" not found'
    elif storage_class.volume_binding_mode is None:
        reason = Reason.CLASS_WITHOUT_BINDING_MODE
        sentence = f'VolumeBindingMode not set for StorageClass "{name}"'
    else:
        reason, sentence = Reason.UNBOUND_IMMEDIATE_CLAIM, "PersistentVolume had no name"
    return Finding(reason=reason, sentence=sentence, claim=claim.key, about=about)


# All nodes at once


def blocked(demands: Iterable[ZoneDemand], columns: Columns) -> int:
    """The nodes that miss a demand, as bits. A node without zone labels misses none."""
    labels = columns.labels
    labelled = labels.having_any(ZONE_LABELS) & columns.index.alive
    inside = labelled
    for demand in demands:
        inside &= _meeting(demand, labels)
    return labelled & ~inside


def _meeting(demand: ZoneDemand, labels: LabelIndex) -> int:
    found = 0
    newer = NEWER.get(demand.label)
    unlabelled = ~labels.having(demand.label)
    for value in demand.values:
        found |= labels.equal_to(demand.label, value)
        if newer is not None:
            found |= labels.equal_to(newer, value) & unlabelled
    return found
