from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from plimsoll.api.storage import VolumeAttributesClass
from plimsoll.api.volumes import (
    ClaimStatus,
    ModifyVolumeStatus,
    PersistentVolume,
    PersistentVolumeClaim,
)
from plimsoll.decide.csi.modifying import (
    Modify,
    ModifyReason,
    ModifyStep,
    decide_modification,
    decide_modified,
    decide_not_modified,
)
from plimsoll.decide.plan import NOTHING, Emit, Patch, Plan
from plimsoll.decide.provisioning.calls import CallFailed, Code
from tests.builders import a_claim, a_volume, meta

NOW = datetime(2030, 1, 1, tzinfo=UTC)
GOLD = VolumeAttributesClass(metadata=meta("gold"), parameters={"iops": "9000"})


def a_claim_for(
    class_: str | None = "gold", *, current: str | None = None, target: str = "", progress: str = ""
) -> PersistentVolumeClaim:
    claim = a_claim(volume="volume-1")
    modify = ModifyVolumeStatus(target_volume_attributes_class_name=target, status=progress)
    return msgspec.structs.replace(
        claim,
        spec=msgspec.structs.replace(claim.spec, volume_attributes_class_name=class_),
        status=ClaimStatus(
            phase="Bound",
            current_volume_attributes_class_name=current,
            modify_volume_status=modify if progress else None,
        ),
    )


def its_volume() -> PersistentVolume:
    return a_volume(claim=a_claim())


def decided(claim: PersistentVolumeClaim, **facts: Any) -> ModifyStep:
    known = {"class_": GOLD, "retry_in": None, "now": NOW} | facts
    return decide_modification(claim, its_volume(), known.pop("class_"), **known)


def patches(plan: Plan) -> list[Any]:
    return [write.patch for write in plan.writes if isinstance(write, Patch)]


def events(plan: Plan) -> list[str]:
    return [write.reason for write in plan.writes if isinstance(write, Emit)]


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(a_claim_for(None), id="no-class"),
        pytest.param(a_claim_for("gold", current="gold"), id="has-it"),
    ],
)
def test_a_claim_that_has_what_it_names_is_left_alone(claim: PersistentVolumeClaim) -> None:
    step = decided(claim)
    assert (step.plan, step.call) == (NOTHING, None)


def test_the_target_is_written_down_before_the_driver_is_asked() -> None:
    step = decided(a_claim_for(current="silver"))
    (patch,) = patches(step.plan)
    assert patch["status"]["modifyVolumeStatus"] == {
        "status": "InProgress",
        "targetVolumeAttributesClassName": "gold",
    }
    assert events(step.plan) == ["VolumeModify"]
    assert step.call == Modify(handle="volume-1", target="gold", parameters={"iops": "9000"})


def test_what_is_under_way_is_asked_for_again() -> None:
    step = decided(a_claim_for(target="gold", progress="InProgress"))
    assert step.plan.writes == ()
    assert step.call is not None


def test_a_class_that_is_missing_is_told_once() -> None:
    step = decided(a_claim_for(), class_=None)
    assert (step.call, step.plan.reason) == (None, ModifyReason.NO_CLASS)
    assert patches(step.plan) == [{"status": {"modifyVolumeStatus": {"status": "Pending"}}}]
    assert decided(a_claim_for(progress="Pending"), class_=None).plan == NOTHING


def test_what_is_impossible_waits_unless_another_class_is_named() -> None:
    left = timedelta(minutes=2)
    same = a_claim_for(target="gold", progress="Infeasible")
    step = decided(same, retry_in=left)
    assert (step.call, step.plan.recheck_after) == (None, left)
    other = a_claim_for(target="silver", progress="Infeasible")
    assert decided(other, retry_in=left).call is not None


def test_the_volume_is_marked_before_the_claim() -> None:
    plan = decide_modified(a_claim_for(target="gold", progress="InProgress"), its_volume(), "gold")
    assert patches(plan) == [
        {"spec": {"volumeAttributesClassName": "gold"}},
        {
            "status": {
                "modifyVolumeStatus": None,
                "currentVolumeAttributesClassName": "gold",
                "conditions": None,
            }
        },
    ]


@pytest.mark.parametrize(
    ("code", "progress"),
    [
        pytest.param(Code.INVALID_ARGUMENT, {"status": "Infeasible"}, id="impossible"),
        pytest.param(Code.INTERNAL, None, id="failed"),
    ],
)
def test_a_failure_is_a_condition_and_an_event(code: Code, progress: Any) -> None:
    plan = decide_not_modified(a_claim_for(), CallFailed(code, "no"), NOW)
    (patch,) = patches(plan)
    (condition,) = patch["status"]["conditions"]
    assert condition["type"] == "ModifyVolumeError"
    assert patch["status"].get("modifyVolumeStatus") == progress
    assert events(plan) == ["VolumeModifyFailed"]
