"""Which pods are ended by force, and how."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.api.core import Node, Taint
from plimsoll.api.meta import Condition
from plimsoll.api.pods import Pod, PodStatus
from plimsoll.decide.cluster.lost_nodes import (
    PodEndingReason,
    decide_ending,
    reason_to_end,
    surplus,
)
from plimsoll.decide.plan import NOTHING, Delete, Patch
from plimsoll.decide.resources import PODS
from tests.builders import a_node, a_pod

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
TAINT = Taint(key="node.kubernetes.io/out-of-service", effect="NoExecute")


def deleted(pod: Pod, grace: int = 30) -> Pod:
    metadata = msgspec.structs.replace(
        pod.metadata, deletion_timestamp=NOW, deletion_grace_period_seconds=grace
    )
    return msgspec.structs.replace(pod, metadata=metadata)


def in_phase(pod: Pod, phase: str, reason: str = "") -> Pod:
    return msgspec.structs.replace(pod, status=PodStatus(phase=phase, reason=reason))


def unready(*taints: Taint) -> Node:
    node = a_node(taints=taints)
    status = msgspec.structs.replace(
        node.status, conditions=(Condition(type="Ready", status="Unknown"),)
    )
    return msgspec.structs.replace(node, status=status)


ON_NODE = a_pod(node="node-1")


@pytest.mark.parametrize(
    ("pod", "node", "is_gone", "ending"),
    [
        pytest.param(ON_NODE, None, True, PodEndingReason.NODE_GONE, id="node-gone"),
        pytest.param(ON_NODE, None, False, None, id="node-not-known-but-not-gone"),
        pytest.param(
            deleted(ON_NODE), None, True, PodEndingReason.NODE_GONE, id="deleted-and-node-gone"
        ),
        pytest.param(
            in_phase(ON_NODE, "Succeeded"),
            None,
            True,
            PodEndingReason.NODE_GONE,
            id="finished-node-gone",
        ),
        pytest.param(deleted(in_phase(ON_NODE, "Failed"), 0), None, True, None, id="done-already"),
        pytest.param(
            deleted(ON_NODE),
            unready(TAINT),
            False,
            PodEndingReason.OUT_OF_SERVICE,
            id="out-of-service",
        ),
        pytest.param(ON_NODE, unready(TAINT), False, None, id="out-of-service-but-not-deleted"),
        pytest.param(deleted(ON_NODE), unready(), False, None, id="only-unready"),
        pytest.param(deleted(ON_NODE), a_node(taints=[TAINT]), False, None, id="tainted-but-ready"),
        pytest.param(
            deleted(a_pod()), None, False, PodEndingReason.NEVER_SCHEDULED, id="never-scheduled"
        ),
        pytest.param(a_pod(), None, False, None, id="waiting-for-a-node"),
    ],
)
def test_which_pods_are_ended(
    pod: Pod, node: Node | None, *, is_gone: bool, ending: PodEndingReason | None
) -> None:
    assert reason_to_end(pod, node, node_is_gone=is_gone) == ending


def test_a_pod_of_a_lost_node_is_marked_failed_and_then_deleted_at_once() -> None:
    ready = Condition(type="Ready", status="True", last_transition_time=NOW)
    pod = msgspec.structs.replace(
        ON_NODE,
        metadata=msgspec.structs.replace(ON_NODE.metadata, resource_version="8", generation=3),
        status=PodStatus(phase="Running", conditions=(ready,)),
    )
    patch, delete = decide_ending(pod, PodEndingReason.NODE_GONE, NOW).writes
    assert isinstance(patch, Patch)
    assert (patch.subresource, patch.version) == ("status", "8")
    assert patch.patch == {
        "status": {
            "phase": "Failed",
            "observedGeneration": 3,
            "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T12:00:00Z"},
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "lastTransitionTime": "2024-01-01T12:00:00Z",
                    "reason": "DeletionByPodGC",
                    "message": "PodGC: node no longer exists",
                    "observedGeneration": 3,
                },
            ],
        }
    }
    assert delete == Delete(resource=PODS, key=pod.key, uid=pod.uid, grace_seconds=0)


def test_a_finished_pod_keeps_its_phase() -> None:
    (delete,) = decide_ending(in_phase(ON_NODE, "Succeeded"), PodEndingReason.NODE_GONE, NOW).writes
    assert isinstance(delete, Delete)


def test_without_a_reason_nothing_happens() -> None:
    assert decide_ending(ON_NODE, None, NOW) is NOTHING


def aged(name: str, minutes: int, phase: str = "Succeeded", reason: str = "") -> Pod:
    pod = in_phase(a_pod(name), phase, reason)
    created = NOW - timedelta(minutes=minutes)
    return msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, creation_timestamp=created)
    )


def test_evicted_pods_are_cleared_away_first_then_the_oldest() -> None:
    pods = [
        aged("young", 1),
        aged("old", 9),
        aged("evicted", 2, "Failed", "Evicted"),
        aged("running", 99, "Running"),
    ]
    assert [pod.name for pod in surplus(pods, 1)] == ["evicted", "old"]
    assert surplus(pods, 3) == []
    assert surplus(pods, 0) == []


@given(
    phases=st.lists(st.sampled_from(["Running", "Pending", "Succeeded", "Failed"]), max_size=12),
    limit=st.integers(1, 5),
)
def test_never_more_finished_pods_go_than_are_too_many(phases: list[str], limit: int) -> None:
    pods = [aged(f"pod-{n}", n, phase) for n, phase in enumerate(phases)]
    cleared = surplus(pods, limit)
    finished = [pod for pod in pods if pod.is_finished]
    assert len(cleared) == max(len(finished) - limit, 0)
    assert all(pod.is_finished for pod in cleared)
