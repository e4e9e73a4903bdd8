"""What users are told of their pods."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from plimsoll.api.meta import Condition
from plimsoll.api.pods import Pod
from plimsoll.decide.plan import Emit, Patch, Plan
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel, NoNode
from plimsoll.processes.scheduler.events import (
    PodRefusal,
    PodScheduledReason,
    not_scheduled,
    refusal_text,
    scheduled,
)
from tests.builders import a_node, a_pod
from tests.decide.scheduling.builders import ranked

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)


def with_condition(pod: Pod, *conditions: Condition) -> Pod:
    status = msgspec.structs.replace(pod.status, conditions=conditions)
    return msgspec.structs.replace(pod, status=status)


def refusal(message: str, nominated: str | None = None) -> PodRefusal:
    return PodRefusal(PodScheduledReason.UNSCHEDULABLE, message, nominated)


def conditions_of(plan: Plan) -> list[dict[str, Any]]:
    (patch,) = [write for write in plan.writes if isinstance(write, Patch)]
    assert patch.subresource == "status"
    found: list[dict[str, Any]] = patch.patch["status"]["conditions"]
    return found


def test_a_pod_on_its_node_is_told_by_an_event() -> None:
    (emit,) = scheduled(a_pod(), "node-1").writes
    assert isinstance(emit, Emit)
    assert (emit.reason, emit.type) == ("Scheduled", "Normal")
    assert emit.message == "Successfully assigned default/web-0 to node-1"


def test_a_pod_without_a_node_gets_an_event_and_a_condition() -> None:
    plan = not_scheduled(a_pod(), refusal("no room"), NOW)
    emit = plan.writes[0]
    assert isinstance(emit, Emit)
    assert (emit.reason, emit.type, emit.message) == ("FailedScheduling", "Warning", "no room")
    assert conditions_of(plan) == [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "no room",
            "lastTransitionTime": "2024-01-01T12:00:00Z",
        }
    ]


def test_conditions_of_others_stay_and_the_time_of_the_change_as_well() -> None:
    earlier = NOW - timedelta(hours=1)
    ready = Condition(type="Ready", status="False", last_transition_time=earlier)
    before = Condition(
        type="PodScheduled", status="False", reason="Unschedulable", last_transition_time=earlier
    )
    plan = not_scheduled(with_condition(a_pod(), ready, before), refusal("why"), NOW)
    other, own = conditions_of(plan)
    assert other == {
        "type": "Ready",
        "status": "False",
        "lastTransitionTime": "2024-01-01T11:00:00Z",
    }
    assert own["lastTransitionTime"] == "2024-01-01T11:00:00Z"


def test_the_same_is_not_written_twice() -> None:
    told = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="why")
    plan = not_scheduled(with_condition(a_pod(), told), refusal("why"), NOW)
    assert [type(write) for write in plan.writes] == [Emit]


@pytest.mark.parametrize(
    ("before", "after", "written"),
    [
        pytest.param("", "node-1", {"nominatedNodeName": "node-1"}, id="promised"),
        pytest.param("node-1", "", {"nominatedNodeName": None}, id="taken-back"),
        pytest.param("node-1", "node-1", None, id="the-same"),
        pytest.param("node-1", None, None, id="left-as-it-is"),
    ],
)
def test_a_promised_node_is_written_with_the_condition(
    before: str, after: str | None, written: dict[str, str | None] | None
) -> None:
    told = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="why")
    pod = with_condition(ranked(a_pod(), 1, nominated=before), told)

    plan = not_scheduled(pod, refusal("why", after), NOW)

    patches = [write.patch for write in plan.writes if isinstance(write, Patch)]
    assert patches == ([] if written is None else [{"status": written}])


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param([], "no nodes available to schedule pods", id="no-nodes"),
        pytest.param(
            [a_node("a", cpu="1"), a_node("b", cpu="1", memory="1Gi")],
            "0/2 nodes are available: 1 Insufficient memory, 2 Insufficient cpu. "
            "[InsufficientResource]",
            id="counted-by-sentence",
        ),
    ],
)
def test_refusals_are_told_in_the_words_that_users_know(nodes: list[Any], expected: str) -> None:
    refused = Kernel(Columns.of(nodes)).decide(a_pod(requests={"cpu": "2", "memory": "2Gi"}))
    assert isinstance(refused, NoNode)
    assert refusal_text(refused) == expected
