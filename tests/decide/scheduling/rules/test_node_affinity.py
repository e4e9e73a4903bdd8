from hypothesis import given, settings

from plimsoll.api.core import Taint
from plimsoll.api.pods import Pod, PodSpec, Toleration
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.rules import node_affinity as basics
from plimsoll.decide.scheduling.rules.node_affinity import SOFT, Basics, NodeDemands
from tests.builders import a_node, a_pod, meta
from tests.decide.scheduling.columns.clusters import (
    Chance,
    a_new_pod,
    a_random_node,
    by_identity,
    seeds,
)

RULES = {
    Blocked.NODE_NAME: basics.judge_name,
    Blocked.UNSCHEDULABLE: basics.judge_unschedulable,
    Blocked.TAINT: basics.judge_taints,
    Blocked.NODE_AFFINITY: basics.judge_affinity,
}


@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_all_nodes_at_once_are_judged_like_each_by_itself(seed: int) -> None:
    chance = Chance(seed)
    nodes = by_identity(a_random_node(chance) for _ in range(5))
    columns = Columns.of(nodes)
    demands = NodeDemands.of(a_new_pod(chance))
    known = Basics(columns.index, columns.labels, columns.taints)

    flags = known.blocked(demands)
    soft, wishes = known.soft_taints(demands), known.preferences(demands)

    for node in columns.nodes():
        slot = columns.index.find(node.name)
        expected = sum(flag for flag, judge in RULES.items() if not judge(demands, node).is_fit)
        assert flags[slot] == expected
        disliked = [t for t in node.spec.taints if t.effect == SOFT]
        number = sum(not demands.tolerate_softly(taint) for taint in disliked)
        assert (0 if soft is None else soft[slot]) == number
        wished = demands.preferred.score(node.labels, node.name)
        assert (0 if wishes is None else wishes[slot]) == wished


def test_a_pod_that_names_a_node_fits_no_other() -> None:
    demands = NodeDemands.of(a_pod(node="a"))

    assert basics.judge_name(demands, a_node("a")).is_fit
    assert not basics.judge_name(demands, a_node("b")).is_fit


def test_a_toleration_of_hard_taints_does_not_make_soft_ones_welcome() -> None:
    hard = Toleration(key="gpu", operator="Exists", effect="NoSchedule")
    pod = Pod(metadata=meta("p", "default"), spec=PodSpec(tolerations=(hard,)))
    demands = NodeDemands.of(pod)

    assert demands.tolerate(Taint(key="gpu", effect="NoSchedule"))
    assert not demands.tolerate_softly(Taint(key="gpu", effect=SOFT))
