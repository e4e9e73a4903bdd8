"""The claims of generic ephemeral volumes: created for one pod and deleted with it.

A claim is named after its pod and volume, so it is found again without being remembered. The pod
owns it, and the garbage collector deletes it after the pod. A claim of that name without this owner
is neither used nor changed: its data is not this pod's.
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum

import msgspec

from plimsoll.api.meta import ObjectKey, ObjectMeta
from plimsoll.api.pods import ClaimTemplate, Pod, PodVolume
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.claims.protection import is_for_pod
from plimsoll.decide.plan import NOTHING, Create, Emit, EventType, Plan, Write
from plimsoll.decide.resources import CLAIMS

FAILED_BINDING = "FailedBinding"
NOT_OURS_RECHECK = timedelta(minutes=1)


class EphemeralReason(StrEnum):
    CLAIM_MISSING = "EphemeralClaimMissing"
    CLAIM_NOT_OWNED = "EphemeralClaimNotOwned"


def has_ephemeral_volumes(pod: Pod) -> bool:
    return any(volume.ephemeral for volume in pod.spec.volumes)


def decide_ephemeral_claims(pod: Pod, claims: Mapping[ObjectKey, PersistentVolumeClaim]) -> Plan:
    """Create what is missing, in the order of the volumes, up to the first name that is taken."""
    if pod.is_being_deleted:
        return NOTHING
    writes: list[Write] = []
    for volume in pod.spec.volumes:
        key = pod.claim_of(volume)
        if volume.ephemeral is None or key is None:
            continue
        claim = claims.get(key)
        if claim is None:
            writes.append(Create(resource=CLAIMS, document=_claim(pod, volume, key)))
        elif not is_for_pod(claim, pod):
            message = f"PVC {key} was not created for pod {pod.key} (pod is not owner)"
            return Plan(
                reason=EphemeralReason.CLAIM_NOT_OWNED,
                writes=(*writes, failure_event(pod, volume.name, message)),
                recheck_after=NOT_OURS_RECHECK,
            )
    return Plan(reason=EphemeralReason.CLAIM_MISSING, writes=tuple(writes)) if writes else NOTHING


def failure_event(pod: Pod, volume: str, message: str) -> Emit:
    return Emit(
        regarding={
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": msgspec.to_builtins(pod.metadata),
        },
        type=EventType.WARNING,
        reason=FAILED_BINDING,
        message=f"ephemeral volume {volume}: {message}",
    )


def creation_failed(pod: Pod, write: Write, error: str) -> Emit | None:
    """What to tell about a claim of the plan that could not be created."""
    if not isinstance(write, Create):
        return None
    volume = write.key.name.removeprefix(f"{pod.name}-")
    return failure_event(pod, volume, f"create PVC {write.key.name}: {error}")


def _claim(pod: Pod, volume: PodVolume, key: ObjectKey) -> Document:
    template = (volume.ephemeral and volume.ephemeral.volume_claim_template) or ClaimTemplate()
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod.name,
        "uid": pod.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata: Document = {"namespace": key.namespace, "name": key.name, "ownerReferences": [owner]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata | _labels_and_annotations(template.metadata),
        "spec": msgspec.to_builtins(template.spec),
    }


def _labels_and_annotations(metadata: ObjectMeta) -> Document:
    both = {"labels": dict(metadata.labels), "annotations": dict(metadata.annotations)}
    return {name: values for name, values in both.items() if values}
