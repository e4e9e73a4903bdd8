from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from plimsoll.api.meta import Condition, ObjectReference
from plimsoll.api.volumes import ClaimStatus, PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.csi.resizing import (
    Expanded,
    ExpandOnController,
    LeaveToNode,
    ResizeHistory,
    ResizeReason,
    ResizingDriver,
    decide_not_resized,
    decide_resize,
    decide_resized,
    find_size,
    resize_finished,
)
from plimsoll.decide.csi.steps import NotAsked
from plimsoll.decide.plan import NOTHING, Emit, Patch, Plan
from plimsoll.decide.provisioning.calls import CallFailed, Code
from tests.builders import a_claim, a_volume, meta

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DRIVER = ResizingDriver(name="local.plimsoll.dev")
NODE_ONLY = ResizingDriver(name="local.plimsoll.dev", controller_expands=False)
GIB = 1024**3


def a_growing_claim(
    gib: int = 3, *, has: int = 1, allocated: str = "", progress: str = "", **status: Any
) -> PersistentVolumeClaim:
    claim = a_claim(gib=gib, volume="volume-1")
    return msgspec.structs.replace(
        claim,
        status=ClaimStatus(
            phase="Bound",
            capacity={"storage": f"{has}Gi"},
            allocated_resources={"storage": allocated} if allocated else {},
            allocated_resource_statuses={"storage": progress} if progress else {},
            **status,
        ),
    )


def its_volume(gib: int = 1) -> PersistentVolume:
    return a_volume(gib=gib, claim=a_claim())


def patches(plan: Plan) -> list[Any]:
    return [write.patch for write in plan.writes if isinstance(write, Patch)]


def events(plan: Plan) -> list[str]:
    return [write.reason for write in plan.writes if isinstance(write, Emit)]


@pytest.mark.parametrize(
    ("claim", "volume_gib", "size"),
    [
        pytest.param(a_growing_claim(), 1, "3Gi", id="first-time"),
        pytest.param(
            a_growing_claim(allocated="5Gi", progress="ControllerResizeInProgress"),
            1,
            "5Gi",
            id="the-driver-may-be-at-work-on-another-size",
        ),
        pytest.param(
            a_growing_claim(allocated="5Gi", progress="ControllerResizeInfeasible"),
            1,
            "3Gi",
            id="that-other-size-cannot-be-had",
        ),
        pytest.param(
            a_growing_claim(gib=5, allocated="3Gi", progress="NodeResizePending"),
            3,
            None,
            id="the-node-is-not-done-with-the-size-before",
        ),
        pytest.param(
            a_growing_claim(gib=5, allocated="3Gi", progress="NodeResizeInProgress"),
            2,
            "3Gi",
            id="the-volume-is-not-yet-as-large-as-the-node-believes",
        ),
        pytest.param(
            a_growing_claim(gib=5, allocated="3Gi", progress="NodeResizeInfeasible"),
            1,
            "3Gi",
            id="the-node-could-not-grow-a-smaller-volume",
        ),
        pytest.param(
            a_growing_claim(allocated="3Gi", progress="NodeResizePending"),
            3,
            None,
            id="only-the-node-is-left",
        ),
        pytest.param(
            a_growing_claim(allocated="4Gi", progress="NodeResizeInfeasible"),
            4,
            "4Gi",
            id="the-node-failed-and-may-try-again",
        ),
        pytest.param(
            a_growing_claim(allocated="4Gi", progress="ControllerResizeInProgress"),
            4,
            "4Gi",
            id="the-driver-was-done-and-the-controller-had-not-written-it",
        ),
        pytest.param(
            a_growing_claim(conditions=(Condition(type="FileSystemResizePending", status="True"),)),
            3,
            None,
            id="an-old-server-knows-only-conditions",
        ),
    ],
)
def test_which_size_is_asked_for(
    claim: PersistentVolumeClaim, volume_gib: int, size: str | None
) -> None:
    assert find_size(claim, its_volume(volume_gib), DRIVER) == size


def test_after_a_final_error_another_size_may_be_asked_for() -> None:
    claim = a_growing_claim(allocated="5Gi", progress="ControllerResizeInProgress")
    history = ResizeHistory(failed_for_good=True)
    assert find_size(claim, its_volume(), DRIVER, history) == "3Gi"


def test_the_size_is_written_down_before_the_driver_is_asked() -> None:
    step = decide_resize(a_growing_claim(), its_volume(), DRIVER, now=NOW)
    assert patches(step.plan) == [
        {
            "status": {
                "conditions": [
                    {
                        "type": "Resizing",
                        "status": "True",
                        "lastTransitionTime": "2030-01-01T00:00:00Z",
                    }
                ],
                "allocatedResources": {"storage": "3Gi"},
                "allocatedResourceStatuses": {"storage": "ControllerResizeInProgress"},
            }
        }
    ]
    assert events(step.plan) == ["Resizing"]
    assert isinstance(step.call, ExpandOnController)
    assert (step.call.handle, step.call.size_bytes) == ("volume-1", 3 * GIB)


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(a_growing_claim(gib=1), id="no-more-wanted"),
        pytest.param(a_claim(gib=3, volume="volume-1"), id="not-bound"),
    ],
)
def test_claims_that_want_no_more_are_left_alone(claim: PersistentVolumeClaim) -> None:
    step = decide_resize(claim, its_volume(), DRIVER, now=NOW)
    assert (step.plan, step.call) == (NOTHING, None)


def test_a_volume_of_another_claim_is_left_alone() -> None:
    volume = its_volume()
    other = ObjectReference(namespace="default", name="data", uid="other")
    volume = msgspec.structs.replace(
        volume, spec=msgspec.structs.replace(volume.spec, claim_ref=other)
    )
    assert decide_resize(a_growing_claim(), volume, DRIVER, now=NOW).call is None


def test_what_cannot_be_had_is_asked_for_again_after_a_while() -> None:
    claim = a_growing_claim(allocated="3Gi", progress="ControllerResizeInfeasible")
    history = ResizeHistory(retry_in=timedelta(minutes=3))
    step = decide_resize(claim, its_volume(), DRIVER, history, now=NOW)
    assert step.call is None
    assert step.plan.recheck_after == timedelta(minutes=3)
    less = a_growing_claim(gib=2, allocated="3Gi", progress="ControllerResizeInfeasible")
    assert decide_resize(less, its_volume(), DRIVER, history, now=NOW).call is not None


def test_a_driver_that_refused_a_used_volume_is_asked_when_it_is_unused() -> None:
    in_use = ResizeHistory(refused_in_use=True, is_used=True)
    step = decide_resize(a_growing_claim(), its_volume(), DRIVER, in_use, now=NOW)
    assert (step.call, step.plan.reason) == (None, ResizeReason.IN_USE)
    unused = ResizeHistory(refused_in_use=True)
    assert decide_resize(a_growing_claim(), its_volume(), DRIVER, unused, now=NOW).call


def test_a_driver_without_a_controller_leaves_it_to_the_node() -> None:
    step = decide_resize(a_growing_claim(), its_volume(), NODE_ONLY, now=NOW)
    assert step.call == LeaveToNode(size_bytes=3 * GIB)


def test_the_volume_is_larger_before_the_claim_says_so() -> None:
    claim = a_growing_claim(allocated="3Gi", progress="ControllerResizeInProgress")
    done = Expanded(size_bytes=4 * GIB, node_has_to_grow=False)
    plan = decide_resized(claim, its_volume(), done, NOW)
    assert patches(plan) == [
        {"spec": {"capacity": {"storage": "4Gi"}}},
        {
            "status": {
                "capacity": {"storage": "4Gi"},
                "conditions": None,
                "allocatedResourceStatuses": {"storage": None},
            }
        },
    ]
    assert events(plan) == ["VolumeResizeSuccessful"]


def test_the_claim_keeps_its_size_until_the_node_is_done() -> None:
    done = Expanded(size_bytes=3 * GIB, node_has_to_grow=True)
    plan = decide_resized(a_growing_claim(allocated="3Gi"), its_volume(), done, NOW)
    volume, claim = patches(plan)
    assert volume == {"spec": {"capacity": {"storage": "3Gi"}}}
    assert claim["status"]["allocatedResourceStatuses"] == {"storage": "NodeResizePending"}
    assert "capacity" not in claim["status"]
    assert events(plan) == ["FileSystemResizeRequired"]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        pytest.param(Code.OUT_OF_RANGE, "ControllerResizeInfeasible", id="infeasible"),
        pytest.param(Code.INTERNAL, None, id="final"),
    ],
)
def test_a_final_failure_is_written_down(code: Code, status: str | None) -> None:
    failure = CallFailed(code, "no")
    plan = decide_not_resized(a_growing_claim(), its_volume(), DRIVER, failure, now=NOW)
    (patch,) = patches(plan)
    (condition,) = patch["status"]["conditions"]
    assert condition["type"] == "ControllerResizeError"
    assert condition["message"] == f"failed to expand pvc with rpc error: code = {code} desc = no"
    statuses = patch["status"].get("allocatedResourceStatuses", {})
    assert statuses.get("storage") == status
    assert events(plan) == ["VolumeResizeFailed"]


@pytest.mark.parametrize(
    "failure", [CallFailed(Code.UNAVAILABLE), NotAsked("no secret")], ids=["open", "not-asked"]
)
def test_what_is_open_is_only_told(failure: CallFailed | NotAsked) -> None:
    plan = decide_not_resized(a_growing_claim(), its_volume(), DRIVER, failure, now=NOW)
    assert (patches(plan), events(plan)) == ([], ["VolumeResizeFailed"])


def test_when_the_node_is_done_the_new_size_is_told_and_nothing_about_resizing_is_left() -> None:
    conditions = ("FileSystemResizePending", "Resizing", "ModifyingVolume")
    claim = PersistentVolumeClaim(
        metadata=meta("data", "default"),
        status=ClaimStatus(
            capacity={"storage": "1Gi"},
            conditions=tuple(Condition(type=name, status="True") for name in conditions),
            allocated_resource_statuses={"storage": "NodeResizePending"},
        ),
    )
    patch = resize_finished(claim, "2Gi")
    assert patch.subresource == "status"
    assert patch.uid == claim.uid
    assert patch.patch == {
        "status": {
            "capacity": {"storage": "2Gi"},
            "conditions": [{"type": "ModifyingVolume", "status": "True"}],
            "allocatedResourceStatuses": {"storage": None},
        }
    }
