"""What wakes a pod that InterPodAffinity turned away. The oracle has kube-scheduler's part."""

import msgspec
import pytest

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod, PodStatus
from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import NodeRule
from plimsoll.decide.scheduling.queue.affinity_wakeups import terms_of_others
from plimsoll.decide.scheduling.queue.wakeups import ClusterChange, helps, may_help_any_pod
from tests.builders import HOSTNAME, ZONE, a_node, a_pod
from tests.decide.scheduling.queue.builders import (
    DATABASE,
    EVERYTHING,
    a_namespace,
    far_from,
    near,
    placed,
    term,
)

AWAY = placed(namespace="away")
UNREADABLE = LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key="a", operator="Bogus"),))
IN_ZONE, ELSEWHERE = a_node(labels={ZONE: "a"}), a_node(labels={ZONE: "b"})


@pytest.mark.parametrize(
    ("pod", "before", "after"),
    [
        pytest.param(near(term()), None, placed(), id="a-pod-that-it-wants-near"),
        pytest.param(near(term()), placed("db"), placed(), id="a-pod-is-called-so-now"),
        pytest.param(far_from(term()), placed(), None, id="a-pod-that-it-avoids-goes"),
        pytest.param(a_pod(), far_from(term(EVERYTHING), pod=placed()), None, id="avoided-by-it"),
        pytest.param(near(term(UNREADABLE)), None, placed(), id="nobody-can-tell"),
        pytest.param(
            near(term(namespaces=EVERYTHING)), None, AWAY, id="in-a-namespace-that-may-be-selected"
        ),
        pytest.param(
            near(term(namespaces=DATABASE)), None, AWAY, id="in-one-that-kube-scheduler-overlooks"
        ),
        pytest.param(near(term()), placed(), None, id="it-may-be-the-first-of-its-kind-now"),
        pytest.param(
            far_from(term(), term(DATABASE, key=HOSTNAME)),
            placed(),
            placed("db"),
            id="in-the-way-of-fewer-nodes",
        ),
        pytest.param(near(term()), IN_ZONE, a_node(), id="the-pods-of-a-node-that-leaves-its-zone"),
        pytest.param(far_from(term()), IN_ZONE, ELSEWHERE, id="a-node-leaves-a-zone-it-avoids"),
        pytest.param(a_pod(), IN_ZONE, None, id="the-pods-of-a-node-that-goes-do-not-count"),
        pytest.param(a_pod(), None, IN_ZONE, id="a-node-where-none-avoids-it"),
        pytest.param(near(term()), a_node(), IN_ZONE, id="a-node-joins-a-zone"),
        pytest.param(
            a_pod(), a_namespace(labels={"team": "a"}), a_namespace(), id="its-namespace-changes"
        ),
        pytest.param(
            near(term(namespaces=DATABASE)),
            a_namespace("away"),
            a_namespace("away", {"app": "db"}),
            id="a-namespace-is-selected-now",
        ),
    ],
)
def test_a_change_to_pods_that_a_term_selects_helps(
    pod: Pod, before: ApiObject | None, after: ApiObject | None
) -> None:
    assert may_help_any_pod(before, after)
    assert helps(NodeRule.POD_AFFINITY, pod, before, after)


@pytest.mark.parametrize(
    ("pod", "before", "after"),
    [
        pytest.param(near(term()), None, placed("db"), id="a-pod-that-it-does-not-want"),
        pytest.param(near(term()), None, AWAY, id="one-in-another-namespace"),
        pytest.param(near(term()), None, a_pod(labels={"app": "web"}), id="one-without-node"),
        pytest.param(far_from(term()), None, placed(), id="one-that-it-avoids"),
        pytest.param(far_from(term()), placed("db"), None, id="one-that-it-does-not-avoid-goes"),
        pytest.param(near(term()), None, a_node(), id="a-node-in-no-zone"),
        pytest.param(a_pod(), IN_ZONE, ELSEWHERE, id="a-node-leaves-a-zone-where-none-avoids-it"),
        pytest.param(near(term(key="rack")), a_node(), IN_ZONE, id="not-the-topology-of-its-terms"),
        pytest.param(
            far_from(term(key=HOSTNAME)), IN_ZONE, ELSEWHERE, id="not-the-topology-that-it-avoids"
        ),
        pytest.param(
            near(term()), a_namespace("x"), a_namespace("x", {"a": "b"}), id="not-its-own"
        ),
    ],
)
def test_a_change_to_pods_that_no_term_selects_does_not_help(
    pod: Pod, before: ApiObject | None, after: ApiObject | None
) -> None:
    assert not helps(NodeRule.POD_AFFINITY, pod, before, after)


AVOIDER = far_from(term(EVERYTHING), pod=placed())
PROMISED = msgspec.structs.replace(
    far_from(term(EVERYTHING), pod=a_pod("promised")),
    status=PodStatus(nominated_node_name="node-1"),
)


@pytest.mark.parametrize("avoider", [AVOIDER, PROMISED], ids=["on-a-node", "meant-for-a-node"])
def test_a_node_that_leaves_the_topology_of_a_pod_frees_those_that_the_pod_avoids(
    avoider: Pod,
) -> None:
    columns = Columns.of([IN_ZONE, avoider])
    if not avoider.spec.node_name:
        columns.nominations.put(avoider)

    def frees(pod: Pod, before: Node, after: Node) -> bool:
        change = ClusterChange.of(before, after, terms_of_others(columns))
        return change.helps(NodeRule.POD_AFFINITY, pod)

    assert frees(a_pod(), IN_ZONE, ELSEWHERE)
    assert frees(a_pod(), IN_ZONE, a_node())
    assert not frees(a_pod(), a_node(), IN_ZONE)
    assert not frees(a_pod(), a_node(labels={"rack": "1"}), a_node())
    assert not frees(a_pod(namespace="away"), IN_ZONE, ELSEWHERE)
