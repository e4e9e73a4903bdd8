"""What to do about a user's VolumeSnapshot.

It gets a class, then a content under a name that follows from it, and from then on its status
repeats that of the content. Both point at each other. A snapshot goes only when no volume is being
provisioned from it, and when its content, where that goes with it, is gone.
"""

from enum import StrEnum
from typing import NoReturn

from plimsoll.api.registry import Document
from plimsoll.api.snapshots import VolumeSnapshot, VolumeSnapshotClass, VolumeSnapshotContent
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.csi.snapshots.deletion import decide_deletion
from plimsoll.decide.csi.snapshots.names import (
    CLAIM_AS_SOURCE,
    CONTENTS,
    DELETE,
    SECRET_NAME,
    SECRET_NAMESPACE,
    SNAPSHOT_AS_SOURCE,
    SNAPSHOT_BOUND,
    SNAPSHOTS,
    content_name,
    is_prepared,
    points_back,
)
from plimsoll.decide.csi.snapshots.parameters import SNAPSHOTTER, parse_secret
from plimsoll.decide.csi.snapshots.status import complaint, told_by_content
from plimsoll.decide.csi.snapshots.view import SnapshotView
from plimsoll.decide.csi.steps import told
from plimsoll.decide.finalizers import add_finalizer, set_finalizers
from plimsoll.decide.plan import NOTHING, Create, Patch, Plan, Write
from plimsoll.decide.resources import CLAIMS


class SnapshotReason(StrEnum):
    """Why something was written about a snapshot."""

    CLASS_CHOSEN = "DefaultSnapshotClassAssigned"
    """It named no class and got the default one of its volume's driver."""
    PROTECTED = "SnapshotProtected"
    """Finalizers keep it from vanishing under its users."""
    CONTENT_MADE = "SnapshotContentMade"
    """The driver is asked for a snapshot by a content object."""
    BOUND = "SnapshotContentBound"
    """A content that was prepared by hand is now this snapshot's."""
    FOLLOWED = "SnapshotStatusFollowed"
    """Its status says what its content says."""
    REFUSED = "SnapshotRefused"
    """Something is missing or does not fit; the status says what."""


class SnapshotRefusedError(Exception):
    """Nothing can be done for the snapshot now. Raised and caught in this module."""

    def __init__(self, reason: str, message: str, *, unready: bool = True) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.unready = unready


def decide_snapshot(snapshot: VolumeSnapshot, view: SnapshotView) -> Plan:
    if snapshot.is_being_deleted:
        return decide_deletion(snapshot, view)
    try:
        return _decide_request(snapshot, view)
    except SnapshotRefusedError as no:
        writes = complaint(snapshot, no.reason, no.message, view.now, unready=no.unready)
        return Plan(reason=SnapshotReason.REFUSED, writes=tuple(writes))


def _decide_request(snapshot: VolumeSnapshot, view: SnapshotView) -> Plan:
    is_settled = snapshot.is_ready and _bound_name(snapshot) is not None
    if not is_settled:
        chosen = _class_chosen(snapshot, view)
        if chosen is not None:
            return chosen
    content = _content(snapshot, view)
    protected = _protected(snapshot, content)
    if protected is not None:
        return protected
    if content is None:
        return _made(snapshot, view)
    if is_settled:
        return NOTHING
    bound = _bound(snapshot, content)
    writes = told_by_content(snapshot, content)
    if not bound and not writes:
        return NOTHING
    return Plan(
        reason=SnapshotReason.BOUND if bound else SnapshotReason.FOLLOWED,
        writes=(*bound, *writes),
    )


def _bound_name(snapshot: VolumeSnapshot) -> str | None:
    status = snapshot.status
    return status.bound_volume_snapshot_content_name if status is not None else None


# The class


def _class_chosen(snapshot: VolumeSnapshot, view: SnapshotView) -> Plan | None:
    name = snapshot.spec.volume_snapshot_class_name
    if name is not None:
        if view.find_class(name) is None:
            missing = f'volumesnapshotclass.snapshot.storage.k8s.io "{name}" not found'
            raise SnapshotRefusedError(
                "GetSnapshotClassFailed",
                f"Failed to get snapshot class with error {missing}",
                unready=False,
            )
        return None
    if snapshot.spec.source.volume_snapshot_content_name is not None:
        return None
    found = _default_class(snapshot, view)
    patch = Patch(
        resource=SNAPSHOTS,
        key=snapshot.key,
        patch={"spec": {"volumeSnapshotClassName": found.name}},
        version=snapshot.metadata.resource_version,
        uid=snapshot.uid,
    )
    return Plan(reason=SnapshotReason.CLASS_CHOSEN, writes=(patch,))


def _default_class(snapshot: VolumeSnapshot, view: SnapshotView) -> VolumeSnapshotClass:
    try:
        driver = _source_volume(snapshot, view)[2]
    except ValueError as error:
        _no_default(str(error))
    found = [each for each in view.classes if each.is_default and each.driver == driver]
    if not found:
        _no_default("cannot find default snapshot class")
    if len(found) > 1:
        _no_default(f"{len(found)} default snapshot classes were found")
    return found[0]


def _no_default(why: str) -> NoReturn:
    message = f"Failed to set default snapshot class with error {why}"
    raise SnapshotRefusedError("SetDefaultSnapshotClassFailed", message, unready=False)


def _source_volume(
    snapshot: VolumeSnapshot, view: SnapshotView
) -> tuple[PersistentVolumeClaim, PersistentVolume, str, str]:
    """The claim, its volume, the driver and its handle there. Raises ValueError without one."""
    claim, volume = view.claim, view.volume
    name = snapshot.spec.source.persistent_volume_claim_name
    if claim is None:
        raise ValueError(f'persistentvolumeclaim "{name}" not found')
    if claim.status.phase != "Bound":
        raise ValueError(
            f"the PVC {name} is not yet bound to a PV, will not attempt to take a snapshot"
        )
    if volume is None:
        raise ValueError(f'persistentvolume "{claim.spec.volume_name}" not found')
    reference = volume.spec.claim_ref
    if reference is None or reference.key != claim.key or reference.uid not in ("", claim.uid):
        raise ValueError("claim in dataSource not bound or invalid")
    if volume.spec.csi is None:
        raise ValueError(f"cannot find CSI PersistentVolumeSource for volume {volume.name}")
    return claim, volume, volume.spec.csi.driver, volume.spec.csi.volume_handle


# The content


def _content(snapshot: VolumeSnapshot, view: SnapshotView) -> VolumeSnapshotContent | None:
    """The one that serves the snapshot; None where it is still to be made."""
    named = snapshot.spec.source.volume_snapshot_content_name
    name = named if named is not None else content_name(snapshot)
    content = view.content(_bound_name(snapshot) or name)
    if content is None:
        if named is not None or snapshot.is_ready:
            raise SnapshotRefusedError("SnapshotContentMissing", "VolumeSnapshotContent is missing")
        return None
    if snapshot.is_ready and not points_back(content, snapshot):
        message = "VolumeSnapshotContent is not bound to the VolumeSnapshot correctly"
        raise SnapshotRefusedError("SnapshotMisbound", message)
    _check_kind(content, prepared=named is not None)
    reference = content.spec.volume_snapshot_ref
    may_be_taken = named is not None and not reference.uid and reference.key == snapshot.key
    if not may_be_taken and not points_back(content, snapshot):
        message = f"VolumeSnapshotContent [{content.name}] is bound to a different snapshot"
        raise SnapshotRefusedError("SnapshotContentMisbound", message)
    return content


def _check_kind(content: VolumeSnapshotContent, *, prepared: bool) -> None:
    if is_prepared(content) == prepared:
        return
    if prepared:
        message = (
            "VolumeSnapshotContent is dynamically provisioned while expecting a pre-provisioned one"
        )
    else:
        message = (
            f"VolumeSnapshotContent {content.name} is pre-provisioned while expecting a "
            "dynamically provisioned one"
        )
    raise SnapshotRefusedError("SnapshotContentMismatch", message)


def _protected(snapshot: VolumeSnapshot, content: VolumeSnapshotContent | None) -> Plan | None:
    wanted = [SNAPSHOT_AS_SOURCE]
    if content is not None and content.spec.deletion_policy == DELETE:
        wanted.append(SNAPSHOT_BOUND)
    present = snapshot.metadata.finalizers
    missing = [name for name in wanted if name not in present]
    if not missing:
        return None
    patch = set_finalizers(SNAPSHOTS, snapshot, (*present, *missing))
    return Plan(reason=SnapshotReason.PROTECTED, writes=(patch,))


def _bound(snapshot: VolumeSnapshot, content: VolumeSnapshotContent) -> tuple[Write, ...]:
    """A content that was prepared learns which snapshot it serves, and of which class."""
    spec: Document = {}
    if not content.spec.volume_snapshot_ref.uid:
        spec["volumeSnapshotRef"] = {"uid": snapshot.uid}
    class_name = snapshot.spec.volume_snapshot_class_name
    if class_name is not None and content.spec.volume_snapshot_class_name is None:
        spec["volumeSnapshotClassName"] = class_name
    if not spec:
        return ()
    return (
        Patch(
            resource=CONTENTS,
            key=content.key,
            patch={"spec": spec},
            version=content.metadata.resource_version,
            uid=content.uid,
        ),
    )


def _made(snapshot: VolumeSnapshot, view: SnapshotView) -> Plan:
    try:
        claim = _free_claim(snapshot, view)
        document = _document(snapshot, view)
    except ValueError as error:
        message = f"Failed to create snapshot content with error {error}"
        raise SnapshotRefusedError("SnapshotContentCreationFailed", message) from error
    writes: list[Write] = []
    if CLAIM_AS_SOURCE not in claim.metadata.finalizers:
        writes.append(add_finalizer(CLAIMS, claim, CLAIM_AS_SOURCE))
    message = f"Waiting for a snapshot {snapshot.key} to be created by the CSI driver."
    writes += [
        Create(resource=CONTENTS, document=document),
        told(snapshot, "CreatingSnapshot", message),
    ]
    return Plan(reason=SnapshotReason.CONTENT_MADE, writes=tuple(writes))


def _free_claim(snapshot: VolumeSnapshot, view: SnapshotView) -> PersistentVolumeClaim:
    claim = _source_volume(snapshot, view)[0]
    if claim.is_being_deleted and CLAIM_AS_SOURCE not in claim.metadata.finalizers:
        raise ValueError(f"cannot add finalizer on claim {claim.name} because it is being deleted")
    return claim


def _document(snapshot: VolumeSnapshot, view: SnapshotView) -> Document:
    """Raises ValueError."""
    _, volume, driver, handle = _source_volume(snapshot, view)
    class_ = view.find_class(snapshot.spec.volume_snapshot_class_name or "")
    if class_ is None:
        raise ValueError(f"failed to take snapshot {snapshot.name} without a snapshot class")
    if class_.driver != driver:
        raise ValueError(
            f"snapshot class {class_.name} is of driver {class_.driver}, volume {volume.name} "
            f"of driver {driver}"
        )
    name = content_name(snapshot)
    metadata: Document = {"name": name}
    secret = parse_secret(SNAPSHOTTER, class_.parameters, name, snapshot)
    if secret is not None:
        metadata["annotations"] = {SECRET_NAME: secret.name, SECRET_NAMESPACE: secret.namespace}
    spec: Document = {
        "volumeSnapshotRef": _reference(snapshot),
        "source": {"volumeHandle": handle},
        "volumeSnapshotClassName": class_.name,
        "deletionPolicy": class_.deletion_policy,
        "driver": class_.driver,
    }
    if volume.spec.volume_mode is not None:
        spec["sourceVolumeMode"] = volume.spec.volume_mode
    return {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshotContent",
        "metadata": metadata,
        "spec": spec,
    }


def _reference(snapshot: VolumeSnapshot) -> Document:
    return {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshot",
        "namespace": snapshot.namespace,
        "name": snapshot.name,
        "uid": snapshot.uid,
        "resourceVersion": snapshot.metadata.resource_version,
    }
