import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.storage.volume_sources import source_errors
from tests.apiserver.model.kinds.storage.objects import causes

ISCSI = {"targetPortal": "p", "iqn": "iqn.2015-02.example.com:t"}
CSI = {"driver": "d.example.com", "volumeHandle": "h"}


@pytest.mark.parametrize(
    ("key", "source", "complaints"),
    [
        ("hostPath", {"path": "/a/../b"}, {("Invalid", "hostPath.path")}),
        ("hostPath", {"path": "/a", "type": "Pipe"}, {("NotSupported", "hostPath.type")}),
        ("local", {}, {("Required", "local.path"), ("Required", "nodeAffinity")}),
        ("nfs", {"server": "s"}, {("Required", "nfs.path"), ("Invalid", "nfs.path")}),
        ("gcePersistentDisk", {}, {("Required", "persistentDisk.pdName")}),
        (
            "awsElasticBlockStore",
            {"volumeID": "v", "partition": -1},
            {("Invalid", "awsElasticBlockStore.partition")},
        ),
        ("quobyte", {"registry": "a", "volume": "v"}, {("Invalid", "quobyte.registry")}),
        ("quobyte", {"registry": "[::1]:7,b:8", "volume": "v"}, set()),
        (
            "quobyte",
            {"registry": "a:1", "tenant": "t" * 65},
            {("Required", "quobyte.tenant"), ("Required", "quobyte.volume")},
        ),
        (
            "glusterfs",
            {"endpoints": "e", "path": "p", "endpointsNamespace": ""},
            {("Invalid", "glusterfs.endpointsNamespace")},
        ),
        ("flocker", {}, {("Required", "flocker")}),
        ("flocker", {"datasetName": "a/b"}, {("Invalid", "flocker.datasetName")}),
        ("flocker", {"datasetName": "a", "datasetUUID": "b"}, {("Invalid", "flocker")}),
        ("iscsi", ISCSI, set()),
        ("iscsi", ISCSI | {"lun": 256}, {("Invalid", "iscsi.lun")}),
        ("iscsi", ISCSI | {"iqn": "other"}, {("Invalid", "iscsi.iqn")}),
        ("iscsi", ISCSI | {"iqn": "eui.0123456789abcdef"}, set()),
        ("iscsi", ISCSI | {"chapAuthSession": True}, {("Required", "iscsi.secretRef")}),
        ("iscsi", ISCSI | {"secretRef": {}}, {("Required", "iscsi.secretRef.name")}),
        ("iscsi", ISCSI | {"initiatorName": "naa.1"}, {("Invalid", "iscsi.initiatorname")}),
        ("fc", {}, {("Required", "fc.targetWWNs")}),
        ("fc", {"targetWWNs": ["a"]}, {("Required", "fc.lun")}),
        ("fc", {"targetWWNs": ["a"], "wwids": ["b"], "lun": 1}, {("Invalid", "fc.targetWWNs")}),
        (
            "flexVolume",
            {"driver": "d", "options": {"x.K8s.io/a": "1", "b": "2"}},
            {("Invalid", "flexVolume.options[x.K8s.io/a]")},
        ),
        (
            "azureFile",
            {"secretName": "s", "shareName": "s", "secretNamespace": ""},
            {("Required", "azureFile.secretNamespace")},
        ),
        (
            "azureDisk",
            {"diskName": "d", "diskURI": "u", "kind": "Managed"},
            {("NotSupported", "azureDisk.diskURI")},
        ),
        (
            "azureDisk",
            {"diskName": "d", "diskURI": "https://x", "kind": "Odd", "cachingMode": "Odd"},
            {("NotSupported", "azureDisk.kind"), ("NotSupported", "azureDisk.cachingMode")},
        ),
        (
            "cinder",
            {"volumeID": "v", "secretRef": {}},
            {("Required", "cinder.secretRef.name"), ("Required", "cinder.secretRef.namespace")},
        ),
        ("storageos", {"volumeName": "A"}, {("Invalid", "storageos.volumeName")}),
        ("csi", CSI, set()),
        ("csi", {}, {("Required", "csi.driver"), ("Required", "csi.volumeHandle")}),
        (
            "csi",
            CSI | {"nodePublishSecretRef": {"name": "A_", "namespace": "a.b"}},
            {
                ("Invalid", "csi.nodePublishSecretRef.name"),
                ("Invalid", "csi.nodePublishSecretRef.namespace"),
            },
        ),
        ("csi", CSI | {"nodeStageSecretRef": {}}, set()),
    ],
)
def test_a_source_says_what_its_driver_needs(
    key: str, source: Document, complaints: set[tuple[str, str]]
) -> None:
    found = causes(source_errors({key: source}, "spec", name="v"))

    assert found == dict.fromkeys({(reason, f"spec.{f}") for reason, f in complaints}, 1)
