"""A volume that may be taken back, its claim and its pod: tests change one thing at a time."""

from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from plimsoll.api.meta import ApiObject, OwnerReference
from plimsoll.api.pods import Pod
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import ClaimStatus, PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import PROVISIONED_BY, ROLLBACK, UNUSED_VOLUMES
from plimsoll.decide.provisioning.volume import DELETION_SECRET_NAME, DELETION_SECRET_NAMESPACE
from plimsoll.decide.rollback.manifest import claim_manifest
from plimsoll.decide.rollback.objections import RollbackView
from plimsoll.decide.rollback.records import RollbackRecord, UnusedProof
from tests.builders import DRIVER, ZONE, a_claim, a_class, a_node, a_pod, a_volume, document
from tests.decide.scheduling.builders import bound

T = TypeVar("T", bound=ApiObject)

ZONE_A, ZONE_B = {ZONE: "a"}, {ZONE: "b"}
NODES = {name: a_node(name, labels={ZONE: name[-1]}) for name in ("node-a", "node-b")}
DELETED_AT = datetime(2026, 1, 1, tzinfo=UTC)


def with_metadata(object_: T, **fields: Any) -> T:
    metadata = msgspec.structs.replace(object_.metadata, **fields)
    return msgspec.structs.replace(object_, metadata=metadata)


def annotated(object_: T, name: str, value: str) -> T:
    return with_metadata(object_, annotations={**object_.annotations, name: value})


def deleting(object_: T) -> T:
    return with_metadata(object_, deletion_timestamp=DELETED_AT)


def with_spec(object_: T, **fields: Any) -> T:
    spec = msgspec.structs.replace(object_.spec, **fields)  # type: ignore[attr-defined]  # has one
    return msgspec.structs.replace(object_, spec=spec)


def a_consenting_class() -> StorageClass:
    return with_metadata(a_class(), annotations={ROLLBACK: UNUSED_VOLUMES})


def an_unused_claim(name: str = "data") -> PersistentVolumeClaim:
    claim = bound(a_claim(name), f"pvc-uid-default-{name}")
    status = ClaimStatus(phase="Bound", capacity={"storage": "1Gi"})
    return with_metadata(msgspec.structs.replace(claim, status=status), resource_version="7")


def an_unused_volume(claim: PersistentVolumeClaim | None = None) -> PersistentVolume:
    claim = claim or an_unused_claim()
    volume = a_volume(f"pvc-{claim.uid}", claim=claim, reachable_from=ZONE_A)
    annotations = {PROVISIONED_BY: DRIVER, DELETION_SECRET_NAME: "", DELETION_SECRET_NAMESPACE: ""}
    return with_metadata(
        volume, annotations=annotations, resource_version="5", finalizers=("theirs",)
    )


def a_waiting_pod(name: str = "web-0", *, owner: str = "StatefulSet", claim: str = "data") -> Pod:
    pod = with_metadata(a_pod(name, claims=[claim]), resource_version="9")
    if not owner:
        return pod
    api_version = "batch/v1" if owner == "Job" else "apps/v1"
    reference = OwnerReference(
        api_version=api_version, kind=owner, name="web", uid="uid-web", controller=True
    )
    return with_metadata(pod, owner_references=(reference,))


def a_record(**fields: Any) -> RollbackRecord:
    claim, volume, pod = an_unused_claim(), an_unused_volume(), a_waiting_pod()
    whole: dict[str, Any] = {
        "volume_name": volume.name,
        "volume_uid": volume.uid,
        "volume_version": "5",
        "driver": DRIVER,
        "volume_id": volume.name,
        "claim": claim_manifest(msgspec.json.decode(msgspec.json.encode(document(claim)))),
        "claim_uid": claim.uid,
        "pod": str(pod.key),
        "pod_uid": pod.uid,
        "deletes_pod": True,
        "recreates_claim": True,
        "proof": UnusedProof.DRIVER,
        "node": "node-b",
        "why": "0/2 nodes are available.",
        "begun_at": "2026-01-01T00:00:00Z",
    }
    return RollbackRecord(**(whole | fields))


def a_view(**fields: Any) -> RollbackView:
    claim = an_unused_claim()
    whole: dict[str, Any] = {
        "volume": an_unused_volume(),
        "claim": claim,
        "claims": (claim,),
        "pods": (a_waiting_pod(),),
        "nodes": NODES,
    }
    return RollbackView(**(whole | fields))
