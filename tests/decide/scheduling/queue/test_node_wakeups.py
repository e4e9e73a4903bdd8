"""What nodes that come or change mean for a pod that no node would take."""

import msgspec

from plimsoll.api.core import NodeSpec, Taint
from plimsoll.decide.scheduling.queue.node_wakeups import (
    has_more_features,
    has_more_resources,
    is_selected_now,
    is_tolerated_now,
    takes_pods_again,
)
from tests.builders import a_node, a_pod

TAINTED = a_node(taints=[Taint(key="dedicated", effect="NoSchedule")])
CLOSED = msgspec.structs.replace(a_node(), spec=NodeSpec(unschedulable=True))
LARGE = a_pod(requests={"cpu": "2"})


def test_a_node_must_be_open_now_and_not_have_been_before() -> None:
    assert takes_pods_again(a_pod(), CLOSED, a_node())
    assert not takes_pods_again(a_pod(), a_node(), a_node())
    assert not takes_pods_again(a_pod(), None, CLOSED)


def test_a_node_must_be_tolerated_now_and_not_have_been_before() -> None:
    assert is_tolerated_now(a_pod(), TAINTED, a_node())
    assert not is_tolerated_now(a_pod(), a_node(), a_node())
    assert not is_tolerated_now(a_pod(), None, TAINTED)


def test_a_node_that_is_added_must_be_selected() -> None:
    spec = msgspec.structs.replace(a_pod().spec, node_selector={"disk": "ssd"})
    picky = msgspec.structs.replace(a_pod(), spec=spec)
    assert is_selected_now(picky, None, a_node(labels={"disk": "ssd"}))
    assert not is_selected_now(picky, None, a_node())


def test_a_node_must_hold_the_pod_if_it_were_empty() -> None:
    assert has_more_resources(LARGE, None, a_node(cpu="2"))
    assert not has_more_resources(LARGE, None, a_node(cpu="1"))


def test_a_node_that_was_there_must_have_more_of_what_the_pod_asks_for() -> None:
    assert has_more_resources(LARGE, a_node(cpu="1"), a_node(cpu="2"))
    assert not has_more_resources(LARGE, a_node(), a_node(memory="64Gi"))


def test_a_node_must_declare_something_new() -> None:
    capable = msgspec.structs.replace(
        a_node(), status=msgspec.structs.replace(a_node().status, declared_features=("New",))
    )
    assert has_more_features(a_pod(), a_node(), capable)
    assert not has_more_features(a_pod(), capable, a_node())
