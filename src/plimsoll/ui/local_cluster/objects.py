"""What a local cluster has from the start: its drivers, and classes to try them with."""

from plimsoll.api.registry import Document

LOCAL, POOLS = "local.plimsoll.dev", "pools.plimsoll.dev"
NAMESPACE = "plimsoll-system"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
DEFAULT_SNAPSHOT_CLASS = "snapshot.storage.kubernetes.io/is-default-class"


def first_objects(*, real: bool, root: bool) -> list[Document]:
    """In the order in which they can be created. `real`: nodes have disks of their own."""
    classes = [
        _class("local", LOCAL, {}, is_default=True),
        _class("zonal", POOLS, {"kind": "zonal"}),
        _class("regional", POOLS, {"kind": "regional"}),
        _class("two-zones", POOLS, {"kind": "zonal", "domains": "2"}),
    ]
    if real and root:
        parameters = {"layout": "mirrored", "csi.storage.k8s.io/fstype": "btrfs"}
        classes.append(_class("mirrored", LOCAL, parameters))
        classes.append(_class("memory", LOCAL, {"medium": "memory"}))
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        _driver(LOCAL, attach=not real, modes=["Persistent", *(["Ephemeral"] if real else [])]),
        _driver(POOLS, attach=True, modes=["Persistent"]),
        *classes,
        _snapshot_class("local", LOCAL, is_default=True),
        _snapshot_class("pools", POOLS, is_default=True),
    ]


def _driver(name: str, *, attach: bool, modes: list[str]) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": name},
        "spec": {
            "attachRequired": attach,
            "podInfoOnMount": True,
            "storageCapacity": True,
            "fsGroupPolicy": "File",
            "volumeLifecycleModes": modes,
        },
    }


def _class(
    name: str, driver: str, parameters: dict[str, str], *, is_default: bool = False
) -> Document:
    annotations = {DEFAULT_CLASS: "true"} if is_default else {}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": annotations},
        "provisioner": driver,
        "parameters": parameters,
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }


def _snapshot_class(name: str, driver: str, *, is_default: bool) -> Document:
    annotations = {DEFAULT_SNAPSHOT_CLASS: "true"} if is_default else {}
    return {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshotClass",
        "metadata": {"name": name, "annotations": annotations},
        "driver": driver,
        "deletionPolicy": "Delete",
    }
