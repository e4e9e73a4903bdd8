"""What users do with volumes that they have: snapshots, restored and deleted; clones; growth."""

from plimsoll.api.registry import Document
from plimsoll.simulator.scenario.user import NAMESPACE, Action, ClusterUser
from plimsoll.wire.errors import Failure, KubeError

SNAPSHOT_API = "snapshot.storage.k8s.io"


class SnapshotClaim(Action, frozen=True, kw_only=True, tag="takeSnapshot"):
    """With the snapshot class of the claim's driver, which is created with the first one."""

    name: str
    claim: str
    class_name: str = "zonal"
    """Of the claim."""

    async def carry_out(self, user: ClusterUser) -> None:
        driver = user.driver_of(self.class_name)
        await user.create(snapshot_class(driver))
        await user.create(snapshot(self.name, self.claim, driver))


class DropSnapshot(Action, frozen=True, kw_only=True, tag="deleteSnapshot"):
    name: str

    async def carry_out(self, user: ClusterUser) -> None:
        await user.delete("VolumeSnapshot", self.name)


class RestoreSnapshot(Action, frozen=True, kw_only=True, tag="restoreSnapshot"):
    """To a claim of a new pod; both have the name."""

    name: str
    snapshot: str
    class_name: str = "zonal"
    size: str = "1Gi"

    async def carry_out(self, user: ClusterUser) -> None:
        source = {"apiGroup": SNAPSHOT_API, "kind": "VolumeSnapshot", "name": self.snapshot}
        for document in copy_with_pod(self.name, self.class_name, self.size, source):
            await user.create(document)


class CloneClaim(Action, frozen=True, kw_only=True, tag="cloneClaim"):
    """To a claim of a new pod; both have the name."""

    name: str
    claim: str
    class_name: str = "zonal"
    size: str = "1Gi"

    async def carry_out(self, user: ClusterUser) -> None:
        source = {"kind": "PersistentVolumeClaim", "name": self.claim}
        for document in copy_with_pod(self.name, self.class_name, self.size, source):
            await user.create(document)


class GrowClaim(Action, frozen=True, kw_only=True, tag="growClaim"):
    """A claim that has no volume yet, or is as large already, stays as it is."""

    claim: str
    size: str

    async def carry_out(self, user: ClusterUser) -> None:
        wanted = {"spec": {"resources": {"requests": {"storage": self.size}}}}
        try:
            await user.patch("PersistentVolumeClaim", self.claim, wanted)
        except KubeError as error:
            if error.failure not in (Failure.FORBIDDEN, Failure.INVALID):
                raise


def snapshot_class(driver: str) -> Document:
    return {
        "apiVersion": f"{SNAPSHOT_API}/v1",
        "kind": "VolumeSnapshotClass",
        "metadata": {"name": driver},
        "driver": driver,
        "deletionPolicy": "Delete",
    }


def snapshot(name: str, claim: str, class_name: str) -> Document:
    return {
        "apiVersion": f"{SNAPSHOT_API}/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "volumeSnapshotClassName": class_name,
            "source": {"persistentVolumeClaimName": claim},
        },
    }


def copy_with_pod(name: str, class_name: str, size: str, source: Document) -> list[Document]:
    """`deletePods` finds both by their label."""
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {"app": name}}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_name,
            "resources": {"requests": {"storage": size}},
            "dataSource": source,
        },
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "containers": [{"name": "main", "image": "none"}],
            "terminationGracePeriodSeconds": 5,
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
        },
    }
    return [claim, pod]
