"""Marks of disruptions that did not happen."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from plimsoll.api.meta import Condition
from plimsoll.api.pods import Pod, PodStatus
from plimsoll.decide.cluster.stale_disruption import decide_stale_disruption
from plimsoll.decide.plan import Patch
from tests.builders import a_pod

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)


def marked(
    since: timedelta, *, reason: str = "EvictionByEvictionAPI", phase: str = "Running"
) -> Pod:
    condition = Condition(
        type="DisruptionTarget", status="True", reason=reason, last_transition_time=NOW - since
    )
    pod = a_pod("web", node="node-1")
    return structs.replace(pod, status=PodStatus(phase=phase, conditions=(condition,)))


def test_a_mark_is_taken_back_when_nothing_deleted_the_pod_for_two_minutes() -> None:
    (write,) = decide_stale_disruption(marked(timedelta(minutes=2)), NOW).writes

    assert isinstance(write, Patch)
    assert write.subresource == "status"
    (condition,) = write.patch["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("DisruptionTarget", "False")
    assert "reason" not in condition


def test_a_fresh_mark_is_looked_at_again_when_its_time_is_over() -> None:
    plan = decide_stale_disruption(marked(timedelta(seconds=90)), NOW)

    assert (plan.writes, plan.recheck_after) == ((), timedelta(seconds=30))


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod("web"), id="no-mark"),
        pytest.param(marked(timedelta(hours=1), reason="TerminationByKubelet"), id="by-a-kubelet"),
        pytest.param(marked(timedelta(hours=1), phase="Failed"), id="finished"),
    ],
)
def test_other_pods_are_left_alone(pod: Pod) -> None:
    plan = decide_stale_disruption(pod, NOW)

    assert (plan.writes, plan.recheck_after) == ((), None)
