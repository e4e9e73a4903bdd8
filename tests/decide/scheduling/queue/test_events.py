"""Events of nodes and pods, told apart. The oracle has many more."""

import msgspec
import pytest

from plimsoll.api.core import Node, NodeSpec, Taint
from plimsoll.api.pods import Pod, SchedulingGate, Toleration
from plimsoll.decide.scheduling.queue.events import (
    ClusterEvent,
    node_events,
    own_events,
    pod_events,
)
from tests.builders import ZONE, a_node, a_pod

CLOSED = msgspec.structs.replace(a_node(), spec=NodeSpec(unschedulable=True))
TAINTED = a_node(taints=[Taint(key="dedicated", effect="NoSchedule")])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(None, a_node(), [ClusterEvent.NODE_ADDED], id="came"),
        pytest.param(a_node(), None, [ClusterEvent.NODE_DELETED], id="went"),
        pytest.param(a_node(), a_node(), [], id="heartbeat"),
        pytest.param(a_node(), CLOSED, [], id="closed"),
        pytest.param(CLOSED, a_node(), [ClusterEvent.NODE_TAINTS], id="opened"),
        pytest.param(CLOSED, TAINTED, [ClusterEvent.NODE_TAINTS] * 2, id="opened-and-tainted"),
        pytest.param(a_node(cpu="1"), a_node(cpu="1000m"), [], id="spelled-otherwise"),
        pytest.param(
            a_node(),
            a_node(cpu="1", labels={ZONE: "a"}),
            [ClusterEvent.NODE_ALLOCATABLE, ClusterEvent.NODE_LABELS],
            id="two-at-once",
        ),
    ],
)
def test_events_of_a_node(
    before: Node | None, after: Node | None, expected: list[ClusterEvent]
) -> None:
    assert node_events(before, after) == expected


def test_a_pod_that_asks_for_less_of_one_thing_and_more_of_another_is_scaled_both_ways() -> None:
    before = a_pod(requests={"cpu": "2", "memory": "1Gi"})
    after = a_pod(requests={"cpu": "1", "memory": "2Gi"})
    assert own_events(before, after) == [
        ClusterEvent.OWN_SCALED_DOWN,
        ClusterEvent.OWN_SCALED_UP,
    ]


def changed(pod: Pod) -> Pod:
    spec = msgspec.structs.replace(
        pod.spec, scheduling_gates=(), tolerations=(Toleration(operator="Exists"),)
    )
    return msgspec.structs.replace(pod, spec=spec)


def test_events_of_a_pod_come_in_kube_schedulers_order() -> None:
    gates = (SchedulingGate(name="not-yet"),)
    waiting = a_pod()
    gated = msgspec.structs.replace(
        waiting, spec=msgspec.structs.replace(waiting.spec, scheduling_gates=gates)
    )
    assert own_events(gated, changed(a_pod(labels={"a": "b"}))) == [
        ClusterEvent.OWN_LABELS,
        ClusterEvent.OWN_GATES,
        ClusterEvent.OWN_TOLERATIONS,
    ]


def test_a_change_without_an_event_of_its_own_is_an_update() -> None:
    running = a_pod(node="node-1")
    assert pod_events(running, running) == [ClusterEvent.POD_UPDATED]
    assert own_events(a_pod(), a_pod()) == [ClusterEvent.OWN_UPDATED]
