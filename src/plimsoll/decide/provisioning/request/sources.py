"""What a new volume is filled from: nothing, another claim's volume, or a snapshot.

`spec.dataSource` counts before `spec.dataSourceRef`. A source that is not usable now may become
so: the attempt then ends without change and is repeated. Sources of all other kinds belong to
populators.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn, assert_never

from plimsoll.api.meta import ObjectKey
from plimsoll.api.quantity import parse_bytes
from plimsoll.api.snapshots import VolumeSnapshot, VolumeSnapshotContent
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import (
    BLOCK,
    FILESYSTEM,
    CsiSource,
    DataSource,
    PersistentVolume,
    PersistentVolumeClaim,
)
from plimsoll.decide.claims.writes import STORAGE, ClaimPhase, VolumePhase
from plimsoll.decide.provisioning.calls import ContentSource, FromSnapshot, FromVolume
from plimsoll.decide.provisioning.failures import Problem, ProvisioningState, refuse
from plimsoll.decide.provisioning.settings import ProvisionerSettings
from plimsoll.decide.provisioning.view import ProvisionerView

SNAPSHOT_KIND = "VolumeSnapshot"
SNAPSHOT_GROUP = "snapshot.storage.k8s.io"
CLAIM_KIND = "PersistentVolumeClaim"
CLONE_PROTECTION = "provisioner.storage.kubernetes.io/cloning-protection"
"""Finalizer of claims that are, or were, cloned."""
SNAPSHOT_PROTECTION = "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection"
"""Finalizer of snapshots that a volume is being provisioned from."""
ALLOW_MODE_CHANGE = "snapshot.storage.kubernetes.io/allow-volume-mode-change"
TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})


class SourceKind(StrEnum):
    SNAPSHOT = SNAPSHOT_KIND
    CLAIM = CLAIM_KIND


@dataclass(frozen=True, slots=True)
class ResolvedSource:
    kind: SourceKind
    key: ObjectKey


@dataclass(frozen=True, slots=True)
class Populator:
    """A volume populator provisions claims with sources of this kind."""

    kind: str


def find_source(claim: PersistentVolumeClaim) -> ResolvedSource | Populator | None:
    reference = claim.spec.data_source or claim.spec.data_source_ref
    if reference is None:
        return None
    if claim.spec.data_source is None and reference.namespace:
        refuse(
            Problem.CROSS_NAMESPACE,
            "dataSourceRef namespace specified "
            "but the CrossNamespaceVolumeDataSource feature is disabled",
        )
    if not reference.name:
        refuse(Problem.SOURCE_WITHOUT_NAME, f"the PVC source not found for PVC {claim.name}")
    return _read(reference, claim.namespace)


def _read(reference: DataSource, namespace: str) -> ResolvedSource | Populator:
    key = ObjectKey(namespace, reference.name)
    match reference.kind:
        case "VolumeSnapshot":
            group = reference.api_group or ""
            if group != SNAPSHOT_GROUP:
                refuse(
                    Problem.SOURCE_API_GROUP,
                    "the PVC source does not belong to the right APIGroup. "
                    f"Expected {SNAPSHOT_GROUP}, Got {group}",
                )
            return ResolvedSource(SourceKind.SNAPSHOT, key)
        case "PersistentVolumeClaim":
            return ResolvedSource(SourceKind.CLAIM, key)
        case kind:
            return Populator(kind)


@dataclass(frozen=True, slots=True)
class Filling:
    """A claim that is to be filled, its class, the provisioner's settings and the source."""

    claim: PersistentVolumeClaim
    storage_class: StorageClass
    settings: ProvisionerSettings
    source: ResolvedSource
    is_begun: bool = False
    """Whether the driver was asked already, and may have made the volume."""


def content_source(filling: Filling, view: ProvisionerView) -> ContentSource:
    match filling.source.kind:
        case SourceKind.CLAIM:
            return _from_claim(filling, view)
        case SourceKind.SNAPSHOT:
            return _from_snapshot(filling, view)
        case _:
            assert_never(filling.source.kind)


def _from_claim(filling: Filling, view: ProvisionerView) -> FromVolume:
    name = filling.source.key.name
    source = view.claim(filling.source.key)
    if source is None:
        _unusable(
            filling.source,
            f'error getting PVC {name} (namespace "{filling.source.key.namespace}") '
            f'from api server: persistentvolumeclaim "{name}" not found',
        )
    _check_source_claim(filling, source)
    volume = view.volume(source.spec.volume_name)
    csi = None if volume is None else _bound_csi(filling, source, volume)
    if volume is None or csi is None:
        _unusable(filling.source, "claim in dataSource not bound or invalid")
    _check_same_mode(filling, volume)
    return FromVolume(csi.volume_handle)


def _is_lost(filling: Filling, source: PersistentVolumeClaim) -> bool:
    """With our mark on it, it stays until the clone that was begun is finished.

    csi-provisioner refuses then: the clone is never finished, so the mark is never taken off.
    """
    is_kept = CLONE_PROTECTION in source.metadata.finalizers and not filling.settings.is_compatible
    return source.is_being_deleted and not is_kept


def _is_too_large(filling: Filling, source: PersistentVolumeClaim) -> bool:
    """A source may grow after the driver was asked: what it has made by then is large enough.

    csi-provisioner refuses then: what the driver has made is never recorded.
    """
    if filling.is_begun and not filling.settings.is_compatible:
        return False
    return filling.claim.spec.requested_bytes < source.spec.requested_bytes


def _check_source_claim(filling: Filling, source: PersistentVolumeClaim) -> None:
    spec, wanted = source.spec, filling.claim.spec
    objections = {
        f"the PVC DataSource {source.name} must have a status of Bound.  "
        f"Got {source.status.phase}": source.status.phase != ClaimPhase.BOUND,
        f"the PVC DataSource {source.name} is currently being deleted": _is_lost(filling, source),
        f"the source PVC ({source.name}) storageclass cannot be empty": (
            spec.storage_class_name is None
        ),
        f"the requested PVC ({filling.claim.name}) storageclass cannot be empty": (
            wanted.storage_class_name is None
        ),
        "error, new PVC request must be greater than or equal in size to the specified PVC "
        f"data source, requested {wanted.requested_bytes} but source is {spec.requested_bytes}": (
            _is_too_large(filling, source)
        ),
        f"volume name is empty in source PVC {source.name}": not spec.volume_name,
    }
    for message, applies in objections.items():
        if applies:
            _unusable(filling.source, message)


def _bound_csi(
    filling: Filling, source: PersistentVolumeClaim, volume: PersistentVolume
) -> CsiSource | None:
    """Where the source's data is, if the volume is this driver's and bound to just that claim."""
    csi, reference = volume.spec.csi, volume.spec.claim_ref
    if csi is None or csi.driver != filling.storage_class.provisioner or reference is None:
        return None
    is_its_claim = (reference.key, reference.uid) == (source.key, source.uid)
    return csi if is_its_claim and volume.status.phase == VolumePhase.BOUND else None


def _check_same_mode(filling: Filling, volume: PersistentVolume) -> None:
    wanted = filling.claim.spec.volume_mode or FILESYSTEM
    given = volume.spec.volume_mode or FILESYSTEM
    if (wanted == BLOCK) != (given == BLOCK):
        _unusable(
            filling.source,
            "the source PVC and destination PVCs must have the same volume mode for cloning.  "
            f"Source is {given}, but new PVC requested {wanted}",
        )


def _from_snapshot(filling: Filling, view: ProvisionerView) -> FromSnapshot:
    name = filling.source.key.name
    snapshot = view.snapshot(filling.source.key)
    if snapshot is None:
        _unusable(
            filling.source,
            f"error getting snapshot {name} from api server: "
            f'volumesnapshots.{SNAPSHOT_GROUP} "{name}" not found',
        )
    if snapshot.is_being_deleted and SNAPSHOT_PROTECTION not in snapshot.metadata.finalizers:
        # With our mark on it, a volume is being provisioned from it already, and is finished.
        _unusable(filling.source, f"snapshot {name} is being deleted")
    content = _bound_content(filling, snapshot, view)
    handle = content.status.snapshot_handle if content.status else None
    if not snapshot.is_ready:
        _unusable(filling.source, f"snapshot {name} is not Ready")
    if handle is None:
        _unusable(filling.source, f"snapshot handle {name} is not available")
    _check_restore_size(filling, snapshot)
    if filling.settings.prevent_volume_mode_conversion:
        _check_mode_change(filling, content)
    return FromSnapshot(handle)


def _bound_content(
    filling: Filling, snapshot: VolumeSnapshot, view: ProvisionerView
) -> VolumeSnapshotContent:
    bound = snapshot.status.bound_volume_snapshot_content_name if snapshot.status else None
    if bound is None:
        _unusable(filling.source, f"snapshot {snapshot.name} not bound")
    content = view.snapshot_content(bound)
    if content is None:
        _unusable(
            filling.source, f"error getting snapshotcontent {bound} for snapshot {snapshot.name}"
        )
    reference = content.spec.volume_snapshot_ref
    if (reference.key, reference.uid) != (snapshot.key, snapshot.uid):
        _unusable(
            filling.source,
            f"snapshotcontent {bound} for snapshot {snapshot.name} "
            "is bound to a different snapshot",
        )
    if content.spec.driver != filling.storage_class.provisioner:
        _unusable(
            filling.source,
            f"snapshotcontent {bound} for snapshot {snapshot.name} is not handled by CSI driver "
            f"of StorageClass {filling.storage_class.name}",
        )
    return content


def _check_restore_size(filling: Filling, snapshot: VolumeSnapshot) -> None:
    size = snapshot.status.restore_size if snapshot.status else None
    if size is None:
        return
    claim = filling.claim
    if STORAGE not in claim.spec.resources.requests:
        _unusable(
            filling.source,
            f"error getting capacity for PVC {claim.name} when creating snapshot {snapshot.name}",
        )
    if claim.spec.requested_bytes < parse_bytes(size):
        _unusable(
            filling.source,
            f"requested volume size {claim.spec.requested_bytes} is less than the size "
            f"{parse_bytes(size)} for the source snapshot {snapshot.name}",
        )


def _check_mode_change(filling: Filling, content: VolumeSnapshotContent) -> None:
    claim, given = filling.claim, content.spec.source_volume_mode
    if given is None or claim.spec.volume_mode is None or given == claim.spec.volume_mode:
        return
    allowed = content.annotations.get(ALLOW_MODE_CHANGE)
    if allowed in TRUE:
        return
    if allowed is None:
        why = f"{ALLOW_MODE_CHANGE} annotation is not present on snapshotcontent {content.name}"
    elif allowed in FALSE:
        why = f"{ALLOW_MODE_CHANGE} is set to false on snapshotcontent {content.name}"
    else:
        why = f"failed to convert {ALLOW_MODE_CHANGE} annotation value to boolean"
    _unusable(
        filling.source,
        f"requested volume {claim.key} modifies the mode of the source volume "
        f"but does not have permission to do so. {why}",
    )


def _unusable(source: ResolvedSource, message: str) -> NoReturn:
    refuse(
        Problem.SOURCE_UNUSABLE,
        f"error getting handle for DataSource Type {source.kind} by Name {source.key.name}: "
        f"{message}",
        ProvisioningState.NO_CHANGE,
    )
