from datetime import UTC, datetime
from typing import Any

import msgspec

from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import CLAIM_PROTECTION, STORAGE_PROVISIONER
from plimsoll.decide.plan import Emit, Patch, Plan
from plimsoll.decide.provisioning.in_process.unrecorded_assets import (
    GUARD,
    DeleteUnrecorded,
    UnrecordedAssetReason,
    after_failed_deletion,
    decide_guard,
    lift_guard,
)
from plimsoll.decide.resources import CLAIMS
from tests.builders import a_claim, a_volume
from tests.decide.claims.builders import a_world

MADE = "pvc-uid-default-data"
GONE = datetime(2024, 1, 1, tzinfo=UTC)


def a_guarded_claim(volume: str = "", **metadata: Any) -> PersistentVolumeClaim:
    claim = a_claim(volume=volume)
    changed = msgspec.structs.replace(
        claim.metadata,
        finalizers=(CLAIM_PROTECTION, GUARD),
        annotations={STORAGE_PROVISIONER: "disks"},
        resource_version="7",
        **metadata,
    )
    return msgspec.structs.replace(claim, metadata=changed)


def finalizers(plan: Plan | DeleteUnrecorded | None) -> Any:
    assert isinstance(plan, Plan)
    [write] = plan.writes
    assert isinstance(write, Patch)
    assert write.resource == CLAIMS
    assert write.uid == "uid-default-data"
    return write.patch["metadata"]["finalizers"]


def test_the_guard_is_lifted_from_the_version_that_was_seen() -> None:
    plan = lift_guard(a_guarded_claim(), UnrecordedAssetReason.UNDONE)
    assert finalizers(plan) == [CLAIM_PROTECTION]
    assert isinstance(plan.writes[0], Patch)
    assert plan.writes[0].version == "7"


def test_nothing_is_written_about_a_claim_without_a_guard() -> None:
    assert lift_guard(a_claim(), UnrecordedAssetReason.UNDONE).writes == ()
    assert decide_guard(a_claim(), a_world()) is None


def test_provisioning_that_is_still_wanted_goes_on() -> None:
    assert decide_guard(a_guarded_claim(), a_world()) is None


def test_a_stored_volume_needs_no_guard_any_more() -> None:
    claim = a_guarded_claim()
    plan = decide_guard(claim, a_world(a_volume(MADE, claim=claim)))
    assert finalizers(plan) == [CLAIM_PROTECTION]


def test_a_claim_deleted_before_its_volume_was_stored_is_rolled_back() -> None:
    claim = a_guarded_claim(deletion_timestamp=GONE)
    expected = DeleteUnrecorded(claim=claim, provisioner="disks", volume_name=MADE)
    assert decide_guard(claim, a_world()) == expected


def test_a_claim_that_took_another_volume_is_rolled_back() -> None:
    claim = a_guarded_claim(volume="by-hand")
    assert isinstance(decide_guard(claim, a_world(a_volume("by-hand"))), DeleteUnrecorded)


def test_an_administrator_who_has_to_clean_up_is_told_what_and_how() -> None:
    operation = DeleteUnrecorded(claim=a_guarded_claim(), provisioner="disks", volume_name=MADE)
    [event] = after_failed_deletion(operation, "the store is away").writes
    assert isinstance(event, Emit)
    assert event.reason == "ProvisioningCleanupFailed"
    for part in (MADE, "disks", "the store is away", GUARD):
        assert part in event.message
