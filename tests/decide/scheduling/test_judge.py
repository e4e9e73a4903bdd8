from hypothesis import given, settings

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.resources import Demands
from plimsoll.decide.scheduling.judge import Judge, KernelSettings
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.rule_fit import Rejected
from tests.decide.scheduling.columns import plain
from tests.decide.scheduling.columns.clusters import Chance, a_new_pod, a_random_cluster, seeds

COMPATIBLE = KernelSettings(policy=Policy.COMPATIBLE)


@given(seed=seeds)
@settings(max_examples=500, deadline=None)
def test_every_node_gets_the_reasons_that_the_plain_rules_give(seed: int) -> None:
    chance = Chance(seed)
    objects = a_random_cluster(chance)
    pod = a_new_pod(chance, objects)
    view, columns = plain.cluster_of(objects), Columns.of(objects)

    judged = Judge(columns, COMPATIBLE).judge(pod)

    rejected = plain.rejection(pod, view)
    if rejected is not None:
        assert judged == rejected
        return
    assert not isinstance(judged, Rejected)
    demands = Demands.of_waiting(pod)
    for node in view.nodes.values():
        slot = columns.index.find(node.name)
        assert slot is not None
        expected = plain.said(plain.judgements(pod, node, view))
        assert plain.meant(int(judged.flags[slot]), demands) == expected
    # Nodes are left out before the reasons are worked out.
    assert judged.is_feasible.tolist() == [not flags for flags in judged.flags.tolist()]
