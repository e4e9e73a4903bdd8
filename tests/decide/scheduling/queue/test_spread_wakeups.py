"""What wakes a pod that PodTopologySpread turned away. The oracle has kube-scheduler's part."""

from datetime import UTC, datetime

import msgspec
import pytest

from plimsoll.api.core import Taint
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod, Toleration
from plimsoll.decide.scheduling.flags import NodeRule
from plimsoll.decide.scheduling.queue.wakeups import helps, helps_itself, may_help_any_pod
from tests.builders import ZONE, a_node, a_pod
from tests.decide.scheduling.queue.builders import placed, spread

WAITING = spread(a_pod(labels={"app": "web"}))
PICKY = msgspec.structs.replace(
    WAITING, spec=msgspec.structs.replace(WAITING.spec, node_selector={"disk": "ssd"})
)
IN_ZONE = a_node(labels={ZONE: "a"})
FAST = a_node(labels={ZONE: "a", "disk": "ssd"})


def ending(pod: Pod) -> Pod:
    metadata = msgspec.structs.replace(
        pod.metadata, deletion_timestamp=datetime(2024, 1, 1, tzinfo=UTC)
    )
    return msgspec.structs.replace(pod, metadata=metadata)


@pytest.mark.parametrize(
    ("pod", "before", "after"),
    [
        pytest.param(WAITING, None, placed(), id="a-pod-comes-that-counts"),
        pytest.param(WAITING, placed(), None, id="a-pod-goes-that-counts"),
        pytest.param(WAITING, placed(), placed("db"), id="a-pod-counts-no-more"),
        pytest.param(WAITING, placed(), ending(placed()), id="a-pod-is-being-deleted"),
        pytest.param(WAITING, IN_ZONE, None, id="a-node-goes"),
        pytest.param(WAITING, a_node(), IN_ZONE, id="a-node-joins-a-zone"),
        pytest.param(PICKY, FAST, IN_ZONE, id="a-node-is-selected-no-more"),
    ],
)
def test_a_change_to_what_a_constraint_counts_helps(
    pod: Pod, before: ApiObject | None, after: ApiObject | None
) -> None:
    assert may_help_any_pod(before, after)
    assert helps(NodeRule.SPREAD, pod, before, after)


@pytest.mark.parametrize(
    ("pod", "before", "after"),
    [
        pytest.param(WAITING, None, placed(namespace="away"), id="a-pod-of-another-namespace"),
        pytest.param(WAITING, None, placed("db"), id="a-pod-that-does-not-count"),
        pytest.param(WAITING, None, a_node(), id="a-node-in-no-zone"),
        pytest.param(WAITING, FAST, IN_ZONE, id="labels-that-it-does-not-look-at"),
    ],
)
def test_a_change_to_what_no_constraint_counts_does_not_help(
    pod: Pod, before: ApiObject | None, after: ApiObject | None
) -> None:
    assert not helps(NodeRule.SPREAD, pod, before, after)


def test_another_toleration_helps_where_tainted_nodes_do_not_count() -> None:
    before = spread(a_pod(), taints_policy="Honor")
    spec = msgspec.structs.replace(before.spec, tolerations=(Toleration(operator="Exists"),))
    after = msgspec.structs.replace(before, spec=spec)
    assert helps_itself(NodeRule.SPREAD, before, after)
    ignoring = (spread(pod) for pod in (before, after))
    assert not helps_itself(NodeRule.SPREAD, *ignoring)


def test_a_taint_helps_where_tainted_nodes_do_not_count() -> None:
    tainted = a_node(labels={ZONE: "a"}, taints=[Taint(key="full", effect="NoSchedule")])
    assert helps(NodeRule.SPREAD, WAITING, IN_ZONE, tainted)
