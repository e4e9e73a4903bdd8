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
from plimsoll.decide.scheduling.profiles.resource_scoring import ResourceScoring, Strategy
from plimsoll.decide.scheduling.reasons import Reason, Verdict
from plimsoll.decide.scheduling.rules import node_resources_balanced_allocation, node_resources_fit
from plimsoll.decide.scheduling.rules.volume_binding.score import Point, ScoringShape
from tests.builders import a_node, a_pod
from tests.decide.scheduling.columns.clusters import (
    Chance,
    a_new_pod,
    a_placed_pod,
    a_random_node,
    seeds,
)

ALL = slice(None)
MANY = (("cpu", 1), ("ephemeral-storage", 3), ("example.com/gpu", 2))
SHAPE = ScoringShape((Point(0, 0), Point(40, 10), Point(100, 2)))
STRATEGIES = (
    ResourceScoring(),
    ResourceScoring(Strategy.LEAST_ALLOCATED, MANY),
    ResourceScoring(Strategy.MOST_ALLOCATED, MANY),
    ResourceScoring(Strategy.REQUESTED_TO_CAPACITY_RATIO, MANY, SHAPE),
)
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
        for scoring in STRATEGIES:
            by_strategy = node_resources_fit.scores_by(scoring, demands, columns.at(at))
            for place, slot in enumerate(np.arange(5)[at] if isinstance(at, slice) else at):
                node, load = nodes[slot]
                expected = node_resources_fit.score(demands, node, load, scoring)
                assert by_strategy[place] == expected
        names = ("cpu", "example.com/gpu", "ephemeral-storage")
        by_names = node_resources_balanced_allocation.scores_of(names, demands, columns.at(at))
        for place, slot in enumerate(np.arange(5)[at] if isinstance(at, slice) else at):
            node, load = nodes[slot]
            plain = node_resources_balanced_allocation.score(demands, node, load, names)
            assert (scores * 0 + by_names)[place] == plain


@given(seed=seeds)
@settings(max_examples=100, deadline=None)
def test_one_node_is_judged_and_scored_by_its_row_as_by_arrays(seed: int) -> None:
    chance, index = Chance(seed), NodeIndex()
    columns, load = ResourceColumns(index), Load()
    for _ in range(chance.randint(0, 3)):
        load.add(Demands.of_placed(a_placed_pod(chance)), 1)
    columns.write(index.add("n"), NodeResources.of(a_random_node(chance)), load)
    demands, row = Demands.of_waiting(a_new_pod(chance)), columns.row(0)
    rows = columns.rows(np.array([0]))

    assert (
        node_resources_fit.blocked_row(demands, row)
        == (node_resources_fit.blocked_usual(demands, rows)[0])
    )
    assert node_resources_fit.score_row(demands, row) == node_resources_fit.scores(demands, rows)[0]
    balanced = node_resources_balanced_allocation.scores(demands, rows) + np.zeros(1, np.int64)
    assert node_resources_balanced_allocation.score_row(demands, row) == balanced[0]


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
