"""Something to make volumes from: a bound claim called `source` and a ready snapshot `snap`."""

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.provisioning.request.sources import SNAPSHOT_GROUP
from tests.builders import DRIVER
from tests.decide.provisioning.builders import a_claim_document, a_world
from tests.decide.provisioning.world import CLAIMS, CONTENTS, SNAPSHOTS, VOLUMES, World

FROM_CLAIM = {"kind": "PersistentVolumeClaim", "name": "source"}
FROM_SNAPSHOT = {"apiGroup": SNAPSHOT_GROUP, "kind": "VolumeSnapshot", "name": "snap"}


def a_source_world() -> World:
    world = a_world()
    source = a_claim_document(volumeName="disk") | {"status": {"phase": "Bound"}}
    source["metadata"] |= {"name": "source", "uid": "source-uid"}
    world.add(CLAIMS, source)
    reference = {"namespace": "default", "name": "source", "uid": "source-uid"}
    csi = {"driver": DRIVER, "volumeHandle": "disk-0"}
    world.add(
        VOLUMES,
        {
            "metadata": {"name": "disk"},
            "spec": {"csi": csi, "claimRef": reference},
            "status": {"phase": "Bound"},
        },
    )
    status = {
        "boundVolumeSnapshotContentName": "content",
        "readyToUse": True,
        "restoreSize": "1Gi",
    }
    snapshot = {"namespace": "default", "name": "snap", "uid": "snap-uid"}
    world.add(SNAPSHOTS, {"metadata": snapshot, "status": status})
    content = {
        "driver": DRIVER,
        "volumeSnapshotRef": dict(snapshot),
        "sourceVolumeMode": "Filesystem",
    }
    world.add(
        CONTENTS,
        {
            "metadata": {"name": "content", "annotations": {}},
            "spec": content,
            "status": {"snapshotHandle": "snap-0"},
        },
    )
    return world


def claim_in(world: World) -> Document:
    return world.documents[CLAIMS, ObjectKey("default", "source")]


def volume_in(world: World) -> Document:
    return world.documents[VOLUMES, ObjectKey("", "disk")]


def snapshot_in(world: World) -> Document:
    return world.documents[SNAPSHOTS, ObjectKey("default", "snap")]


def content_in(world: World) -> Document:
    return world.documents[CONTENTS, ObjectKey("", "content")]
