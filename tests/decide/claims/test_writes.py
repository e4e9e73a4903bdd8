"""The patches say exactly what has to change, and nothing where nothing has to."""

import msgspec

from plimsoll.api.volumes import ClaimStatus
from plimsoll.decide.annotations import PRE_RESIZE_CAPACITY
from plimsoll.decide.claims.writes import (
    ClaimPhase,
    VolumePhase,
    bind_volume,
    finalizers_patch,
    set_claim_bound,
    set_claim_unbound,
    set_volume_phase,
)
from tests.builders import a_claim, a_volume
from tests.decide.claims.builders import annotated_volume, in_phase


def test_no_field_of_an_older_reference_is_left() -> None:
    volume = a_volume(claim=a_claim().key)
    write = bind_volume(volume, a_claim())
    assert write is not None
    reference = write.patch["spec"]["claimRef"]
    assert reference["fieldPath"] is None
    assert reference["resourceVersion"] is None
    assert reference["uid"] == a_claim().uid


def test_the_message_of_an_older_phase_goes_with_it() -> None:
    failed = in_phase(a_volume(), "Failed", "it broke")
    write = set_volume_phase(failed, VolumePhase.AVAILABLE)
    assert write is not None
    assert write.patch == {"status": {"phase": "Available", "message": None}}
    assert write.subresource == "status"
    assert set_volume_phase(failed, VolumePhase.FAILED, "again") is None


def test_nothing_of_a_former_volume_stays_in_the_status() -> None:
    status = ClaimStatus(
        phase="Bound",
        access_modes=("ReadWriteOnce",),
        capacity={"storage": "1Gi"},
        current_volume_attributes_class_name="gold",
    )
    write = set_claim_unbound(msgspec.structs.replace(a_claim(), status=status), ClaimPhase.LOST)
    assert write is not None
    assert write.patch == {
        "status": {
            "phase": "Lost",
            "accessModes": None,
            "capacity": None,
            "currentVolumeAttributesClassName": None,
        }
    }


def test_the_capacity_is_replaced_as_a_whole() -> None:
    status = ClaimStatus(phase="Pending", capacity={"storage": "1Gi", "other": "7"})
    claim = msgspec.structs.replace(a_claim(), status=status)
    write = set_claim_bound(claim, a_volume(gib=2))
    assert write is not None
    assert write.patch["status"]["capacity"] == {"storage": "2Gi", "other": None}


def test_the_same_size_in_other_words_is_no_change() -> None:
    status = ClaimStatus(phase="Pending", capacity={"storage": "1024Mi"})
    write = set_claim_bound(msgspec.structs.replace(a_claim(), status=status), a_volume(gib=1))
    assert write is not None
    assert "capacity" not in write.patch["status"]


def test_the_attributes_class_is_copied_when_a_pending_claim_is_bound() -> None:
    volume = a_volume()
    spec = msgspec.structs.replace(volume.spec, volume_attributes_class_name="gold")
    volume = msgspec.structs.replace(volume, spec=spec)
    pending = msgspec.structs.replace(a_claim(), status=ClaimStatus(phase="Pending"))
    write = set_claim_bound(pending, volume)
    assert write is not None
    assert write.patch["status"]["currentVolumeAttributesClassName"] == "gold"


def test_a_size_before_resizing_that_cannot_be_read_is_ignored() -> None:
    volume = annotated_volume(a_volume(gib=3), {PRE_RESIZE_CAPACITY: "many"})
    write = set_claim_bound(a_claim(), volume)
    assert write is not None
    assert write.patch["status"]["capacity"] == {"storage": "3Gi"}


def test_the_last_finalizer_takes_the_list_with_it() -> None:
    volume = annotated_volume(a_volume(), {}, ("a", "b"))
    assert finalizers_patch(volume, ["a", "b"]) == {}
    assert finalizers_patch(volume, ["b"]) == {"finalizers": ["b"]}
    assert finalizers_patch(volume, []) == {"finalizers": None}
