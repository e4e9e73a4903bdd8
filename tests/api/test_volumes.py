import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import BETA_CLASS_ANNOTATION, PersistentVolume, PersistentVolumeClaim
from tests.builders import a_claim, a_volume, document


def test_sizes_are_read_as_bytes() -> None:
    assert a_claim(gib=3).spec.requested_bytes == 3 * 2**30
    assert a_volume(gib=2).spec.capacity_bytes == 2 * 2**30
    assert PersistentVolumeClaim().spec.requested_bytes == 0


def test_a_volume_names_the_claim_it_is_kept_for() -> None:
    assert a_volume(claim=ObjectKey("default", "data")).spec.claim == ObjectKey("default", "data")
    assert a_volume().spec.claim is None


def test_a_volume_without_affinity_is_reachable_from_everywhere() -> None:
    assert a_volume().spec.required_nodes is None
    volume = from_document(PersistentVolume, {"spec": {"nodeAffinity": {}}})
    assert volume.spec.required_nodes is None


@pytest.mark.parametrize("type_", [PersistentVolume, PersistentVolumeClaim])
def test_the_old_class_annotation_is_stronger_than_the_field(
    type_: type[PersistentVolume | PersistentVolumeClaim],
) -> None:
    object_ = from_document(
        type_,
        {
            "metadata": {"annotations": {BETA_CLASS_ANNOTATION: "old"}},
            "spec": {"storageClassName": "new"},
        },
    )
    assert object_.storage_class == "old"


def test_a_claim_asks_for_the_default_class_only_by_saying_nothing() -> None:
    assert a_claim(class_name=None).asks_for_default_class
    assert not a_claim(class_name="").asks_for_default_class
    assert a_claim(class_name=None).storage_class == a_claim(class_name="").storage_class == ""


def test_in_tree_disks_are_read_by_their_wire_names() -> None:
    spec = {"azureDisk": {"diskURI": "/disks/1"}, "cinder": {"volumeID": "c-1"}}
    volume = from_document(PersistentVolume, {"spec": spec})
    assert volume.spec.azure_disk is not None
    assert volume.spec.azure_disk.disk_uri == "/disks/1"
    assert document(volume)["spec"] == spec
