"""How many of a budget's pods may be evicted."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import structs

from plimsoll.api.meta import Condition, OwnerReference
from plimsoll.api.pods import Pod, PodStatus
from plimsoll.api.policy import (
    DisruptionBudgetSpec,
    DisruptionBudgetStatus,
    PodDisruptionBudget,
)
from plimsoll.api.registry import Document
from plimsoll.api.typed import from_document
from plimsoll.api.workloads import Deployment, ReplicaSet, ReplicaSpec
from plimsoll.decide.cluster.disruption import Controllers, decide_budget
from plimsoll.decide.plan import Emit, Patch, Plan
from tests.builders import a_pod, meta

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)


def owner(kind: str, name: str, api_version: str = "apps/v1") -> OwnerReference:
    uid = f"uid-default-{name}"
    return OwnerReference(api_version=api_version, kind=kind, name=name, uid=uid, controller=True)


def owned(name: str, by: OwnerReference | None, *, ready: bool = True) -> Pod:
    pod = a_pod(name, node="node-1")
    owners = () if by is None else (by,)
    conditions = (Condition(type="Ready", status="True" if ready else "False"),)
    return structs.replace(
        pod,
        metadata=structs.replace(pod.metadata, owner_references=owners),
        status=PodStatus(phase="Running", conditions=conditions),
    )


def controllers(*, replicas: int = 4) -> Controllers:
    """A Deployment `web` with a ReplicaSet `web-1`, and a ReplicaSet `alone`."""
    spec = ReplicaSpec(replicas=replicas)
    deployment = Deployment(metadata=meta("web", "default"), spec=spec)
    metadata = structs.replace(
        meta("web-1", "default"), owner_references=(owner("Deployment", "web"),)
    )
    # While it rolls out, a ReplicaSet has another size than its Deployment.
    sets = (
        ReplicaSet(metadata=metadata, spec=ReplicaSpec(replicas=1)),
        ReplicaSet(metadata=meta("alone", "default"), spec=spec),
    )
    return Controllers(
        deployments={deployment.key: deployment},
        replica_sets={each.key: each for each in sets},
        stateful_sets={},
        replication_controllers={},
    )


def a_budget(
    *, disrupted: Mapping[str, datetime] | None = None, **spec: Any
) -> PodDisruptionBudget:
    metadata = structs.replace(meta("budget", "default"), generation=3)
    return PodDisruptionBudget(
        metadata=metadata,
        spec=DisruptionBudgetSpec(**spec),
        status=DisruptionBudgetStatus(disrupted_pods=disrupted or {}),
    )


def status_of(plan: Plan) -> Document:
    (patch,) = (write for write in plan.writes if isinstance(write, Patch))
    status: Document = patch.patch["status"]
    return status


def counts(plan: Plan) -> tuple[int, int, int, int]:
    """Expected, healthy, desired, allowed."""
    status = status_of(plan)
    return (
        status["expectedPods"],
        status["currentHealthy"],
        status["desiredHealthy"],
        status["disruptionsAllowed"],
    )


def events_of(plan: Plan) -> list[str]:
    return [write.reason for write in plan.writes if isinstance(write, Emit)]


WEB = [owned(f"web-{number}", owner("ReplicaSet", "web-1")) for number in range(3)]
ALONE = [owned(f"alone-{number}", owner("ReplicaSet", "alone")) for number in range(4)]
BARE = [owned("bare", None)]


@pytest.mark.parametrize(
    ("spec", "pods", "expected"),
    [
        pytest.param({"min_available": 2}, ALONE, (4, 4, 2, 2), id="at-least-a-number"),
        pytest.param({"min_available": 2}, BARE * 1, (1, 1, 2, 0), id="a-number-counts-bare-pods"),
        pytest.param({"min_available": "50%"}, WEB, (4, 3, 2, 1), id="percent-of-the-deployment"),
        pytest.param({"min_available": "51%"}, ALONE, (4, 4, 3, 1), id="percent-rounds-up"),
        pytest.param({"max_unavailable": 1}, WEB, (4, 3, 3, 0), id="at-most-a-number-away"),
        pytest.param({"max_unavailable": "30%"}, ALONE, (4, 4, 2, 2), id="percent-away-rounds-up"),
        pytest.param({"max_unavailable": 9}, ALONE, (4, 4, 0, 4), id="more-than-there-are"),
        pytest.param({"max_unavailable": 1}, [*WEB, *ALONE], (8, 7, 7, 0), id="two-controllers"),
        pytest.param({"max_unavailable": 1}, [], (0, 0, 0, 0), id="no-pods"),
        pytest.param({}, ALONE, (4, 4, 0, 4), id="no-number"),
    ],
)
def test_what_may_be_evicted(
    spec: dict[str, Any], pods: list[Pod], expected: tuple[int, int, int, int]
) -> None:
    plan = decide_budget(a_budget(**spec), pods, controllers(), NOW)
    assert counts(plan) == expected
    allowed = expected[3] > 0
    assert status_of(plan)["conditions"] == [
        {
            "type": "DisruptionAllowed",
            "status": "True" if allowed else "False",
            "reason": "SufficientPods" if allowed else "InsufficientPods",
            "message": "",
            "observedGeneration": 3,
            "lastTransitionTime": "2024-01-01T12:00:00Z",
        }
    ]


def test_pods_that_are_leaving_or_not_ready_are_not_healthy() -> None:
    leaving = structs.replace(
        ALONE[0], metadata=structs.replace(ALONE[0].metadata, deletion_timestamp=NOW)
    )
    unready = owned("alone-1", owner("ReplicaSet", "alone"), ready=False)
    plan = decide_budget(
        a_budget(min_available=1), [leaving, unready, *ALONE[2:]], controllers(), NOW
    )
    assert counts(plan) == (4, 2, 1, 1)


def test_an_evicted_pod_is_waited_for_and_counts_again_if_it_stays() -> None:
    evicted = {"alone-0": NOW, "alone-9": NOW}
    budget = a_budget(disrupted=evicted, min_available=1)
    plan = decide_budget(budget, ALONE, controllers(), NOW + timedelta(seconds=60))
    assert counts(plan) == (4, 3, 1, 2)
    assert status_of(plan)["disruptedPods"] == {"alone-0": "2024-01-01T12:00:00Z", "alone-9": None}
    assert plan.recheck_after == timedelta(seconds=61)

    plan = decide_budget(budget, ALONE, controllers(), NOW + timedelta(seconds=121))
    assert counts(plan) == (4, 4, 1, 3)
    assert status_of(plan)["disruptedPods"] == {"alone-0": None, "alone-9": None}
    assert events_of(plan) == ["NotDeleted"]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        pytest.param(
            owner("DaemonSet", "agent"),
            "daemonsets.apps does not implement the scale subresource",
            id="without-replicas",
        ),
        pytest.param(
            owner("ReplicaSet", "gone"), 'found no controllers for pod "x"', id="controller-gone"
        ),
    ],
)
def test_when_pods_cannot_be_counted_none_may_be_evicted(
    reference: OwnerReference, message: str
) -> None:
    plan = decide_budget(a_budget(max_unavailable=1), [owned("x", reference)], controllers(), NOW)
    status = status_of(plan)
    assert status["disruptionsAllowed"] == 0
    assert (status["conditions"][0]["reason"], status["conditions"][0]["message"]) == (
        "SyncFailed",
        message,
    )
    assert events_of(plan) == ["CalculateExpectedPodCountFailed"]


def test_pods_without_a_controller_are_complained_about() -> None:
    plan = decide_budget(a_budget(max_unavailable=1), [*ALONE, *BARE], controllers(), NOW)
    assert events_of(plan) == ["UnmanagedPods"]


@given(
    ready=st.lists(st.booleans(), max_size=8),
    value=st.one_of(st.integers(0, 9), st.integers(0, 100).map(lambda n: f"{n}%")),
    kind=st.sampled_from(["min_available", "max_unavailable"]),
    replicas=st.integers(0, 9),
)
def test_a_status_that_was_written_is_not_written_again(
    ready: list[bool], value: int | str, kind: str, replicas: int
) -> None:
    reference = owner("ReplicaSet", "alone")
    pods = [owned(f"p-{n}", reference, ready=is_ready) for n, is_ready in enumerate(ready)]
    known = controllers(replicas=replicas)
    asked: dict[str, Any] = {kind: value}
    budget = a_budget(**asked)
    status = status_of(decide_budget(budget, pods, known, NOW))
    written = structs.replace(budget, status=from_document(DisruptionBudgetStatus, status))
    again = decide_budget(written, pods, known, NOW + timedelta(seconds=5))
    assert not any(isinstance(write, Patch) for write in again.writes)
    assert 0 <= status["disruptionsAllowed"] <= status["currentHealthy"]
