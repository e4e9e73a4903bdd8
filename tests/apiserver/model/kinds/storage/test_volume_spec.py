import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.storage.volume_spec import (
    inline_spec_errors,
    volume_spec_errors,
)
from tests.apiserver.model.kinds.storage.objects import a_volume, a_volume_on, causes, node_affinity


@pytest.mark.parametrize(
    ("volume", "complaints"),
    [
        pytest.param(a_volume(), set(), id="fine"),
        pytest.param(a_volume(accessModes=[]), {("Required", "accessModes")}, id="no-mode"),
        pytest.param(
            a_volume(accessModes=["Never"]), {("NotSupported", "accessModes")}, id="odd-mode"
        ),
        pytest.param(
            a_volume(accessModes=["ReadWriteOncePod", "ReadOnlyMany"]),
            {("Forbidden", "accessModes")},
            id="one-pod-and-more",
        ),
        pytest.param(
            a_volume(accessModes=["ReadWriteOnce", "ReadWriteOnce"]), set(), id="mode-twice"
        ),
        pytest.param(
            a_volume(capacity={}),
            {("Required", "capacity"), ("NotSupported", "capacity")},
            id="no-capacity",
        ),
        pytest.param(
            a_volume(capacity={"storage": "1", "cpu": "1"}),
            {("NotSupported", "capacity")},
            id="more-than-storage",
        ),
        pytest.param(
            a_volume(capacity={"storage": "0"}), {("Invalid", "capacity[storage]")}, id="empty"
        ),
        pytest.param(
            a_volume(persistentVolumeReclaimPolicy="Burn"),
            {("NotSupported", "persistentVolumeReclaimPolicy")},
            id="odd-policy",
        ),
        pytest.param(
            a_volume_on(hostPath={"path": "/a/.."}, persistentVolumeReclaimPolicy="Recycle"),
            {("Forbidden", "persistentVolumeReclaimPolicy"), ("Invalid", "hostPath.path")},
            id="recycling-the-root",
        ),
        pytest.param(
            a_volume(nodeAffinity={}), {("Required", "nodeAffinity.required")}, id="no-constraint"
        ),
        pytest.param(
            a_volume(storageClassName="A_"), {("Invalid", "storageClassName")}, id="odd-class"
        ),
        pytest.param(a_volume(volumeMode=""), {("NotSupported", "volumeMode")}, id="empty-mode"),
        pytest.param(
            a_volume(volumeAttributesClassName=""),
            {("Required", "volumeAttributesClassName")},
            id="empty-attributes-class",
        ),
        pytest.param(
            a_volume_on(nfs={"server": "s", "path": "/"}, volumeAttributesClassName="gold"),
            {("Required", "csi")},
            id="attributes-are-for-csi",
        ),
    ],
)
def test_a_wrong_field_is_refused(volume: Document, complaints: set[tuple[str, str]]) -> None:
    found = causes(volume_spec_errors(volume["spec"], "spec", name="pv-1"))

    assert found == dict.fromkeys({(reason, f"spec.{f}") for reason, f in complaints}, 1)


def test_odd_affinity_values_that_are_stored_already_are_tolerated() -> None:
    odd = {"key": "zone", "operator": "In", "values": ["a b"]}
    spec = a_volume(nodeAffinity=node_affinity(odd))["spec"]

    assert list(volume_spec_errors(spec, "spec", name="pv-1"))
    assert not list(volume_spec_errors(spec, "spec", name="pv-1", any_label_value=True))


def test_an_inline_volume_is_neither_claimed_nor_reclaimed_nor_placed() -> None:
    spec = a_volume(
        claimRef={"name": "c"},
        persistentVolumeReclaimPolicy="Delete",
        nodeAffinity={},
        storageClassName="fast",
        volumeMode="Block",
    )["spec"]

    assert causes(inline_spec_errors(spec, "s")) == {
        ("Forbidden", "s.claimRef"): 1,
        ("Forbidden", "s.capacity"): 1,
        ("Forbidden", "s.persistentVolumeReclaimPolicy"): 1,
        ("Forbidden", "s.nodeAffinity"): 1,
        ("Forbidden", "s.storageClassName"): 1,
        ("Forbidden", "s.volumeMode"): 1,
    }


def test_an_inline_volume_is_a_csi_volume() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "nfs": {"server": "s", "path": "/"}}

    assert list(causes(inline_spec_errors(spec, "s"))) == [("Required", "s.csi")]
