import numpy as np
from hypothesis import given, settings

from plimsoll.api.core import Node
from plimsoll.decide.scheduling.columns.nodes import NodeIndex
from plimsoll.decide.scheduling.columns.resources import (
    Demands,
    Load,
    NodeResources,
    ResourceColumns,
)
from plimsoll.decide.scheduling.flags import FIRST_SCALAR, Blocked
from plimsoll.decide.scheduling.reasons import Reason, Verdict
from plimsoll.decide.scheduling.rules import node_resources_balanced_allocation, node_resources_fit
from tests.builders import a_node, a_pod
from tests.decide.scheduling.columns.clusters import (
    Chance,
    a_new_pod,
    a_placed_pod,
    a_random_node,
    seeds,
)

ALL = slice(None)
NAMES = {
    "Too many pods": Blocked.TOO_MANY_PODS,
    "Insufficient cpu": Blocked.CPU,
    "Insufficient memory": Blocked.MEMORY,
    "Insufficient ephemeral-storage": Blocked.EPHEMERAL_STORAGE,
    "Insufficient example.com/gpu": 1 << FIRST_SCALAR,
}


@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_all_nodes_at_once_are_judged_and_scored_like_each_by_itself(seed: int) -> None:
    chance = Chance(seed)
    index = NodeIndex()
    columns = ResourceColumns(index)
    nodes: list[tuple[Node, Load]] = []
    for number in range(5):
        node, load = a_random_node(chance), Load()
        for _ in range(chance.randint(0, 3)):
            load.add(Demands.of_placed(a_placed_pod(chance)), 1)
        columns.write(index.add(f"n{number}"), NodeResources.of(node), load)
        nodes.append((node, load))
    demands = Demands.of_waiting(a_new_pod(chance))

    for at in (slice(None), np.array([3, 1], np.intp)):
        rows = columns.rows(at)
        flags = node_resources_fit.blocked(demands, rows, columns.scalars, at)
        scores = node_resources_fit.scores(demands, rows)
        balanced = scores * 0 + node_resources_balanced_allocation.scores(demands, rows)
        for place, slot in enumerate(np.arange(5)[at] if isinstance(at, slice) else at):
            node, load = nodes[slot]
            sentences = node_resources_fit.judge(demands, node, load).sentences
            assert flags[place] == sum(NAMES[sentence] for sentence in sentences)
            assert scores[place] == node_resources_fit.score(demands, node, load)
            assert balanced[place] == node_resources_balanced_allocation.score(demands, node, load)


def test_a_finding_has_the_numbers_and_tells_full_from_too_small() -> None:
    node, load = a_node(cpu="2"), Load()
    load.add(Demands.of_placed(a_pod("p", requests={"cpu": "1500m"})), 1)

    full = node_resources_fit.judge(Demands.of_waiting(a_pod(requests={"cpu": "1"})), node, load)
    assert full.verdict is Verdict.UNSCHEDULABLE
    finding = full.findings[0]
    assert (finding.reason, finding.wanted, finding.seen) == (
        Reason.INSUFFICIENT_RESOURCE,
        1000,
        500,
    )
    too_small = node_resources_fit.judge(
        Demands.of_waiting(a_pod(requests={"cpu": "3"})), node, load
    )
    assert too_small.verdict is Verdict.UNRESOLVABLE


def test_a_resource_that_no_node_has_is_missing_everywhere() -> None:
    index = NodeIndex()
    columns = ResourceColumns(index)
    columns.write(index.add("n"), NodeResources.of(a_node()), Load())
    demands = Demands.of_waiting(a_pod(requests={"example.com/gpu": "1"}))

    flags = node_resources_fit.blocked(demands, columns.rows(ALL), columns.scalars, ALL)
    assert flags[0] == 1 << FIRST_SCALAR
