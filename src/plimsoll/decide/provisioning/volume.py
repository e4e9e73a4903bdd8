"""The PersistentVolume that records what a driver created.

It names its claim from the first moment, so that no other claim gets it. It carries all that is
needed to delete it later: its provisioner, and the name of the secret that the driver wants.
"""

from plimsoll.api.quantity import Format, Quantity
from plimsoll.api.registry import Document
from plimsoll.api.volumes import SecretReference
from plimsoll.decide.annotations import (
    EXTERNAL_DELETION,
    PLACEMENT_REASON,
    PREFERRED_TOPOLOGY,
    PROVISIONED_BY,
)
from plimsoll.decide.claims.writes import reference_to
from plimsoll.decide.preferred_topology import find_preferred
from plimsoll.decide.provisioning.calls import CreatedVolume, Segment
from plimsoll.decide.provisioning.preparation import attributes_class_of
from plimsoll.decide.provisioning.request.access_modes import READER_ONLY, is_block
from plimsoll.decide.provisioning.settings import ProvisionerSettings
from plimsoll.decide.provisioning.steps import Attempt, Call, SecretReferences
from plimsoll.decide.provisioning.topology.node_affinity import node_affinity, usable_affinity

IDENTITY = "storage.kubernetes.io/csiProvisionerIdentity"
DELETION_SECRET_NAME = "volume.kubernetes.io/provisioner-deletion-secret-name"  # noqa: S105  a key
DELETION_SECRET_NAMESPACE = "volume.kubernetes.io/provisioner-deletion-secret-namespace"  # noqa: S105  a key
MODIFY_SECRET_NAME = "volume.kubernetes.io/controller-modify-secret-name"  # noqa: S105  a key
MODIFY_SECRET_NAMESPACE = "volume.kubernetes.io/controller-modify-secret-namespace"  # noqa: S105  a key


def volume_document(call: Call, made: CreatedVolume, settings: ProvisionerSettings) -> Document:
    attempt = call.attempt
    claim, class_ = attempt.claim, attempt.storage_class
    spec: Document = {
        "accessModes": list(claim.spec.access_modes),
        "capacity": {"storage": _size(made.capacity_bytes or attempt.capacity_bytes)},
        "claimRef": reference_to(claim),
        "csi": _csi(call, made, settings),
        "mountOptions": list(class_.mount_options),
        "nodeAffinity": _affinity(made.segments, settings),
        "persistentVolumeReclaimPolicy": class_.reclaim_policy,
        "storageClassName": claim.storage_class,
        "volumeAttributesClassName": attributes_class_of(claim, settings),
        "volumeMode": claim.spec.volume_mode,
    }
    metadata = {
        "name": attempt.volume_name,
        "annotations": _annotations(attempt, call.secrets) | _locality(made, settings),
        "finalizers": [EXTERNAL_DELETION],
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata,
        "spec": _without_empty(spec),
    }


def _size(size_bytes: int) -> str:
    return Quantity(size_bytes, format=Format.BINARY_SI).canonical


def _affinity(segments: tuple[Segment, ...], settings: ProvisionerSettings) -> Document | None:
    if not settings.supports_topology:
        return None
    return node_affinity(segments) if settings.is_compatible else usable_affinity(segments)


def _annotations(attempt: Attempt, secrets: SecretReferences) -> dict[str, str]:
    """Empty names say that no secret is needed; missing ones would say that it is not known."""
    deletion = attempt.secret or SecretReference()
    annotations = {
        PROVISIONED_BY: attempt.storage_class.provisioner,
        DELETION_SECRET_NAME: deletion.name,
        DELETION_SECRET_NAMESPACE: deletion.namespace,
    }
    if modify := secrets.controller_modify:
        annotations |= {
            MODIFY_SECRET_NAME: modify.name,
            MODIFY_SECRET_NAMESPACE: modify.namespace,
        }
    return annotations


def _locality(made: CreatedVolume, settings: ProvisionerSettings) -> dict[str, str]:
    """What the driver told about the place of the volume; csi-provisioner does not look at it."""
    if settings.is_compatible:
        return {}
    found: dict[str, str] = {}
    preferred = made.context.get(PREFERRED_TOPOLOGY, "")
    if find_preferred(preferred) is not None:
        found[PREFERRED_TOPOLOGY] = preferred
    if reason := made.context.get(PLACEMENT_REASON, ""):
        found[PLACEMENT_REASON] = reason
    return found


def _csi(call: Call, made: CreatedVolume, settings: ProvisionerSettings) -> Document:
    attempt, secrets = call.attempt, call.secrets
    return _without_empty(
        {
            "driver": settings.driver,
            "volumeHandle": made.volume_id,
            "fsType": "" if is_block(attempt.claim) else attempt.fs_type,
            "readOnly": _is_read_only(attempt, settings),
            "volumeAttributes": {IDENTITY: settings.identity} | dict(made.context),
            "controllerPublishSecretRef": _reference(secrets.controller_publish),
            "nodeStageSecretRef": _reference(secrets.node_stage),
            "nodePublishSecretRef": _reference(secrets.node_publish),
            "controllerExpandSecretRef": _reference(secrets.controller_expand),
            "nodeExpandSecretRef": _reference(secrets.node_expand),
        }
    )


def _is_read_only(attempt: Attempt, settings: ProvisionerSettings) -> bool:
    modes = [capability.access_mode for capability in attempt.capabilities]
    return settings.controller_publish_readonly and modes == [READER_ONLY]


def _reference(secret: SecretReference | None) -> Document | None:
    return None if secret is None else {"name": secret.name, "namespace": secret.namespace}


def _without_empty(fields: Document) -> Document:
    return {name: value for name, value in fields.items() if value}
