from hypothesis import given, settings

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.explanation import explain
from tests.decide.scheduling.columns import plain
from tests.decide.scheduling.columns.clusters import Chance, a_new_pod, a_random_cluster, seeds


@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_the_plain_rules_find_the_same_without_what_the_node_cannot_see(seed: int) -> None:
    chance = Chance(seed)
    objects = a_random_cluster(chance)
    pod = a_new_pod(chance, objects)
    view, columns = plain.cluster_of(objects), Columns.of(objects)

    for node in view.nodes.values():
        assert explain(pod, node, columns).judgements == plain.judgements(pod, node, view)
