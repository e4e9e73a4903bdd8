from hypothesis import given, settings

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import slots_of
from plimsoll.decide.scheduling.rules import node_name
from tests.builders import a_node, a_pod
from tests.decide.scheduling.columns.clusters import (
    Chance,
    a_new_pod,
    a_random_node,
    by_identity,
    seeds,
)


@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_all_nodes_at_once_are_judged_like_each_by_itself(seed: int) -> None:
    chance = Chance(seed)
    columns = Columns.of(by_identity(a_random_node(chance) for _ in range(5)))
    pod = a_new_pod(chance)

    blocked = node_name.blocked(pod, columns)

    refused = {node.name for node in columns.all_nodes() if not node_name.judge(pod, node).is_fit}
    found = slots_of(blocked & columns.index.alive)
    assert {columns.index.names[slot] for slot in found} == refused


def test_a_pod_that_names_a_node_fits_no_other() -> None:
    pod = a_pod(node="a")

    assert node_name.judge(pod, a_node("a")).is_fit
    assert not node_name.judge(pod, a_node("b")).is_fit
