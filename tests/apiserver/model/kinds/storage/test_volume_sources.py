import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.definitions import definitions
from plimsoll.apiserver.model.kinds.storage.volume_sources import (
    SOURCES,
    default_source,
    source_errors,
)
from tests.apiserver.model.kinds.storage.objects import causes


def test_every_source_that_the_api_knows_has_a_rule() -> None:
    fields = definitions().schemas["io.k8s.api.core.v1.PersistentVolumeSpec"]["properties"]
    sources = {name for name, schema in fields.items() if "VolumeSource" in schema.get("$ref", "")}

    assert sources == {source.key for source in SOURCES}


def test_a_volume_has_one_source() -> None:
    none: Document = {}
    two = {"nfs": {"server": "s", "path": "/p"}, "cephfs": {"monitors": ["m"]}}

    assert list(causes(source_errors(none, "spec", name="v"))) == [("Required", "spec")]
    assert list(causes(source_errors(two, "spec", name="v"))) == [("Forbidden", "spec.cephFS")]


def test_a_local_volume_says_where_it_is() -> None:
    spec = {"local": {"path": "/mnt"}}

    assert list(causes(source_errors(spec, "spec", name="v"))) == [
        ("Required", "spec.nodeAffinity")
    ]
    assert not list(source_errors(spec | {"nodeAffinity": {}}, "spec", name="v"))


def test_an_iscsi_initiator_name_leaves_room_for_the_volume_name() -> None:
    source = {
        "targetPortal": "10.0.0.1:3260",
        "iqn": "iqn.2015-02.example.com:t",
        "initiatorName": "iqn.2015-02.example.com:i",
    }
    long = source_errors({"iscsi": source}, "spec", name="v" * 60)

    assert not list(source_errors({"iscsi": source}, "spec", name="v"))
    assert list(causes(long)) == [("Invalid", "spec.iscsi.targetportal")]


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        ({"hostPath": {"path": "/x"}}, {"hostPath": {"path": "/x", "type": ""}}),
        (
            {"rbd": {"pool": "mine"}},
            {"rbd": {"pool": "mine", "user": "admin", "keyring": "/etc/ceph/keyring"}},
        ),
        (
            {"scaleIO": {"fsType": ""}},
            {"scaleIO": {"fsType": "xfs", "storageMode": "ThinProvisioned"}},
        ),
        (
            {"azureDisk": {"kind": "Managed"}},
            {
                "azureDisk": {
                    "kind": "Managed",
                    "cachingMode": "ReadWrite",
                    "fsType": "ext4",
                    "readOnly": False,
                }
            },
        ),
        ({"csi": {}}, {"csi": {}}),
    ],
)
def test_sources_are_filled_in(given: Document, filled: Document) -> None:
    default_source(given)

    assert given == filled
