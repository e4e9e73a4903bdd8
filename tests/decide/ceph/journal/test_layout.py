import pytest
from hypothesis import given, strategies as st

from plimsoll.decide.ceph.journal.layout import (
    DirectoryEntry,
    ImageAttributes,
    JournalKind,
    JournalLayout,
    attribute_values,
    parse_attributes,
    parse_entry,
)
from plimsoll.decide.ceph.journal.operations import RadosObject

UUID = "11111111-2222-4333-a444-555555555555"
VOLUMES = JournalLayout(instance="east", namespace="tenant1")
SNAPSHOTS = JournalLayout(kind=JournalKind.SNAPSHOT)


def test_objects_and_keys_have_the_names_of_ceph_csi() -> None:
    directory = RadosObject(pool="p", name="csi.volumes.east", namespace="tenant1")
    assert VOLUMES.directory("p") == directory
    assert VOLUMES.image_object("p", UUID).name == f"csi.volume.{UUID}"
    assert VOLUMES.request_key("pvc-1") == "csi.volume.pvc-1"
    assert SNAPSHOTS.directory("p") == RadosObject(pool="p", name="csi.snaps.default")
    assert SNAPSHOTS.image_object("p", UUID).name == f"csi.snap.{UUID}"
    assert SNAPSHOTS.name_key == "csi.snapname"


@given(pool_id=st.none() | st.integers(0, (1 << 63) - 1))
def test_an_entry_is_read_as_it_was_written(pool_id: int | None) -> None:
    entry = DirectoryEntry(UUID, pool_id)
    assert parse_entry(entry.text) == entry


@pytest.mark.parametrize("text", ["", "short", "zz/" + UUID, "05/" + UUID])
def test_an_entry_that_leads_nowhere_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"leads to no image|is no id of a pool"):
        parse_entry(text)


NAMES = st.text("abc-", min_size=1)


@given(
    attributes=st.builds(
        ImageAttributes,
        request_name=NAMES,
        image_name=NAMES,
        image_id=st.just("") | NAMES,
        source=st.just("") | NAMES,
        journal_pool_id=st.integers(-1, 99),
        owner=st.just("") | NAMES,
    )
)
def test_attributes_are_read_as_they_were_written(attributes: ImageAttributes) -> None:
    values = attribute_values(SNAPSHOTS, attributes)
    assert set(values) <= set(SNAPSHOTS.attribute_keys)
    assert parse_attributes(SNAPSHOTS, values, default_name="") == attributes


def test_encryption_is_kept_only_with_the_service_that_has_the_key() -> None:
    assert attribute_values(VOLUMES, ImageAttributes(encryption="block")) == {}
    both = ImageAttributes(kms_id="kms-1", encryption="block")
    assert attribute_values(VOLUMES, both) == {
        "csi.volume.encryptKMS": "kms-1",
        "csi.volume.encryptionType": "block",
    }


def test_old_volumes_have_no_name_of_an_image() -> None:
    values = {"csi.volname": "pvc-1", "csi.volume.encryptionType": "rot13"}
    found = parse_attributes(VOLUMES, values, default_name=f"csi-vol-{UUID}")
    assert found == ImageAttributes(
        request_name="pvc-1", image_name=f"csi-vol-{UUID}", encryption="INVALID"
    )
