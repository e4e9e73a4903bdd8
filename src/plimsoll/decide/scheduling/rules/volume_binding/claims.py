"""A pod's claims, sorted by what is still to be decided about them.

Bound claims have their volume. Delay-bound ones get it when a node is chosen. All others must be
bound by the controller first, and the pod waits for that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod, PodVolume
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import BIND_COMPLETED, ROLLING_BACK
from plimsoll.decide.claims.protection import is_for_pod
from plimsoll.decide.scheduling.reasons import (
    NOT_CONCERNED,
    Finding,
    Judgement,
    Reason,
    Sentence,
    Undecided,
    failed,
    not_owned_finding,
    seen_class,
    seen_volume,
    unresolvable,
)
from plimsoll.decide.scheduling.view import ClusterView

LOST = "Lost"


class _Fate(Enum):
    BOUND = auto()
    DELAYED = auto()
    IMMEDIATE = auto()


@dataclass(frozen=True, slots=True)
class PodClaims:
    """In the order of the pod's volumes; a claim that is named twice is there twice."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]


def prepare(pod: Pod, view: ClusterView) -> PodClaims | Judgement:
    """The claims, or a judgement that holds on every node."""
    claims: list[PersistentVolumeClaim] = []
    for volume in pod.spec.volumes:
        key = pod.claim_of(volume)
        if key is None:
            continue
        claim = view.claim(key)
        if finding := _objection(pod, volume, key, claim):
            return unresolvable(finding)
        claims += (claim,) if claim is not None else ()
    if not claims:
        return NOT_CONCERNED
    try:
        fates = [(claim, _fate(claim, view)) for claim in claims]
    except Undecided as undecided:
        return undecided.judgement
    if immediate := [claim for claim, fate in fates if fate is _Fate.IMMEDIATE]:
        return unresolvable(*map(_unbound_finding, immediate))
    return PodClaims(
        bound=tuple(claim for claim, fate in fates if fate is _Fate.BOUND),
        delayed=tuple(claim for claim, fate in fates if fate is _Fate.DELAYED),
    )


def _fate(claim: PersistentVolumeClaim, view: ClusterView) -> _Fate:
    if is_fully_bound(claim):
        return _Fate.BOUND
    return _Fate.DELAYED if is_delayed(claim, view) else _Fate.IMMEDIATE


class ClaimView(Protocol):
    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None: ...


def find_objection(pod: Pod, volume: PodVolume, view: ClaimView) -> Finding | None:
    """Why the claim of this volume cannot be used on any node."""
    key = pod.claim_of(volume)
    return None if key is None else _objection(pod, volume, key, view.claim(key))


def _objection(
    pod: Pod, volume: PodVolume, key: ObjectKey, claim: PersistentVolumeClaim | None
) -> Finding | None:
    if claim is None:
        return _missing_finding(key, volume)
    if claim.status.phase == LOST:
        return Finding(
            reason=Reason.CLAIM_LOST,
            sentence=f'persistentvolumeclaim "{key.name}" bound to non-existent '
            f'persistentvolume "{claim.spec.volume_name}"',
            claim=key,
            about=seen_volume(claim.spec.volume_name),
        )
    if claim.is_being_deleted:
        sentence = f'persistentvolumeclaim "{key.name}" is being deleted'
        return Finding(reason=Reason.CLAIM_DELETING, sentence=sentence, claim=key)
    if ROLLING_BACK in claim.metadata.annotations:
        sentence = f'persistentvolumeclaim "{key.name}" is being rolled back'
        return Finding(reason=Reason.CLAIM_DELETING, sentence=sentence, claim=key)
    if volume.persistent_volume_claim is None and not is_for_pod(claim, pod):
        return not_owned_finding(pod.key, key)
    return None


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def is_delayed(claim: PersistentVolumeClaim, view: ClusterView) -> bool:
    """Whether an unbound claim waits for its pod's node. One that names a volume does not.

    Raises Undecided if its class does not say.
    """
    name = claim.storage_class
    storage_class = view.storage_class(name) if name else None
    if storage_class is None:
        return False
    if storage_class.volume_binding_mode is None:
        finding = Finding(
            reason=Reason.CLASS_WITHOUT_BINDING_MODE,
            sentence=f'VolumeBindingMode not set for StorageClass "{name}"',
            claim=claim.key,
            about=seen_class(name),
        )
        raise Undecided(failed(finding))
    return storage_class.waits_for_consumer and not claim.spec.volume_name


def are_all_bound(
    pod: Pod, find_claim: Callable[[ObjectKey], PersistentVolumeClaim | None]
) -> bool:
    """Nothing is left to do for the pod's volumes, on whatever node."""
    for volume in pod.spec.volumes:
        key = pod.claim_of(volume)
        if key is None:
            continue
        claim = find_claim(key)
        if claim is None or not is_fully_bound(claim):
            return False
        if volume.persistent_volume_claim is None and not is_for_pod(claim, pod):
            return False
    return True


def _missing_finding(key: ObjectKey, volume: PodVolume) -> Finding:
    if volume.persistent_volume_claim:
        sentence = f'persistentvolumeclaim "{key.name}" not found'
    else:
        sentence = (
            "waiting for ephemeral volume controller to create the "
            f'persistentvolumeclaim "{key.name}"'
        )
    return Finding(reason=Reason.CLAIM_NOT_FOUND, sentence=sentence, claim=key)


def _unbound_finding(claim: PersistentVolumeClaim) -> Finding:
    return Finding(
        reason=Reason.UNBOUND_IMMEDIATE_CLAIM, sentence=Sentence.IMMEDIATE, claim=claim.key
    )
