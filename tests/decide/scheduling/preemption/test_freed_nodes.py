import numpy as np
from hypothesis import given, settings

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.resources import Demands
from plimsoll.decide.scheduling.flags import RESOURCE_BITS
from plimsoll.decide.scheduling.preemption.freed_nodes import FreedNodes
from plimsoll.decide.scheduling.preemption.resource_search import ResourceSearch
from plimsoll.decide.scheduling.rules import node_resources_fit
from tests.builders import a_node, a_pod
from tests.decide.scheduling.builders import ranked
from tests.decide.scheduling.columns.clusters import Chance, seeds
from tests.decide.scheduling.preemption.crowded import Crowd, a_waiting_pod

CPU_1 = {"cpu": "1"}


def freed_for(columns: Columns, cpu: str) -> FreedNodes:
    demands = Demands.of_waiting(a_pod("high", requests={"cpu": cpu}))
    return ResourceSearch(columns).of(demands, 10)


def many_nodes(number: int) -> Columns:
    """Each has a pod of priority 1, and one of priority 2, 3 or 4."""
    columns = Columns()
    for each in range(number):
        name = f"node-{each:03}"
        columns.put(a_node(name, cpu="2"))
        columns.put(ranked(a_pod(f"a-{each}", requests=CPU_1, node=name), 1))
        columns.put(ranked(a_pod(f"b-{each}", requests=CPU_1, node=name), 2 + each % 3))
    return columns


def test_only_nodes_that_can_be_best_are_tried() -> None:
    columns = many_nodes(40)
    columns.put(ranked(a_pod("a-9", requests=CPU_1, node="node-009"), -5))

    freed = freed_for(columns, "1")

    assert freed.best_of().tolist() == [9]
    others = [slot for slot in range(len(freed.is_known)) if slot != 9]
    assert not freed.is_known[others].any()


def test_where_more_than_one_must_leave_all_nodes_are_compared() -> None:
    freed = freed_for(many_nodes(200), "2")

    assert freed.best_of().tolist() == [each for each in range(200) if each % 3 == 0]


def test_no_node_can_be_freed_for_a_pod_that_is_too_large() -> None:
    assert freed_for(many_nodes(20), "3").best_of().tolist() == []


@given(seed=seeds)
@settings(max_examples=100, deadline=None)
def test_many_nodes_at_once_are_tried_like_each_by_itself(seed: int) -> None:
    chance = Chance(seed)
    columns, pod = Crowd(chance).columns, a_waiting_pod(chance)
    demands = Demands.of_waiting(pod)
    one, many = (ResourceSearch(columns).of(demands, pod.priority) for _ in range(2))
    rows = columns.resources.rows(slice(None))
    flags = node_resources_fit.blocked(demands, rows, columns.resources.scalars, slice(None))
    short = np.flatnonzero(flags & np.uint64(RESOURCE_BITS))
    short = short[short < len(columns.index)]

    for slot in short:
        one.work_out(np.array([slot]))
    others = short[~many._work_out_last(short)]  # noqa: SLF001  few nodes are tried otherwise
    many._work_out_many(others)  # noqa: SLF001

    for name in ("flags", "violations_and_priority", "sum_and_count", "started"):
        assert getattr(one, name)[short].tolist() == getattr(many, name)[short].tolist()
    assert one.is_known[short].all()
