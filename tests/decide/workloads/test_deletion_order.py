from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from plimsoll.api.pods import ContainerStatus, Pod
from plimsoll.decide.workloads.deletion_order import (
    COST_ANNOTATION,
    deletion_cost,
    in_deletion_order,
)
from tests.decide.workloads.objects import NOW, a_pod

AGO = NOW - timedelta(hours=1)


def ordered(*pods: Pod, related: tuple[Pod, ...] | None = None) -> list[str]:
    return [pod.name for pod in in_deletion_order(pods, pods if related is None else related, NOW)]


def restarted(name: str, times: int) -> Pod:
    pod = a_pod(name)
    statuses = (ContainerStatus(name="main", restart_count=times),)
    return structs.replace(pod, status=structs.replace(pod.status, container_statuses=statuses))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({"node": "", "phase": "Pending"}, {"phase": "Pending"}, id="no-node-first"),
        pytest.param(
            {"phase": "Pending"}, {"phase": "Running", "ready": False}, id="pending-first"
        ),
        pytest.param({"ready": False}, {}, id="not-ready-first"),
        pytest.param(
            {"annotations": {COST_ANNOTATION: "-5"}}, {"annotations": {}}, id="cheaper-first"
        ),
        pytest.param({"since": NOW - timedelta(minutes=1)}, {"since": AGO}, id="younger-first"),
    ],
)
def test_what_is_missed_least_goes_first(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert ordered(a_pod("z", **first), a_pod("a", **second)) == ["z", "a"]
    assert ordered(a_pod("a", **first), a_pod("z", **second)) == ["a", "z"]


def test_pods_that_share_a_node_with_others_go_first() -> None:
    crowd = tuple(a_pod(f"x{i}", node="node-2") for i in range(3))
    assert ordered(a_pod("a"), a_pod("b", node="node-2"), related=crowd) == ["b", "a"]


def test_pods_that_restarted_more_often_go_first() -> None:
    assert ordered(restarted("a", 1), restarted("b", 9)) == ["b", "a"]


def test_nearly_equal_ages_are_equal_and_fall_by_uid() -> None:
    one = a_pod("a", since=AGO, uid="2")
    other = a_pod("b", since=AGO - timedelta(seconds=1), uid="1")
    assert ordered(one, other) == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "cost"), [("7", 7), ("-7", -7), ("+7", 0), ("07", 0), ("x", 0), ("99999999999", 0)]
)
def test_a_cost_that_is_no_number_counts_as_none(text: str, cost: int) -> None:
    assert deletion_cost(a_pod(annotations={COST_ANNOTATION: text})) == cost
