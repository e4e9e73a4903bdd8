import numpy as np

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.resources import Demands
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.preemption.resource_search import ResourceSearch
from tests.builders import a_node, a_pod
from tests.decide.scheduling.builders import ranked

FIRST = np.array([0])
GPU = "example.com/gpu"


def a_full_node() -> Columns:
    return Columns.of(
        [
            a_node(cpu="4"),
            ranked(a_pod("a", requests={"cpu": "1"}, node="node-1"), 3),
            ranked(a_pod("b", requests={"cpu": "3"}, node="node-1"), 1),
        ]
    )


def wanting(**requests: str) -> Demands:
    return Demands.of_waiting(a_pod("high", requests=requests))


def test_a_candidate_names_the_pods_that_must_leave() -> None:
    columns = a_full_node()

    freed = ResourceSearch(columns).of(wanting(cpu="2"), 10)
    freed.work_out(FIRST)

    assert freed.flags[0] == 0
    assert [pod.name for pod in freed.candidate(0).victims] == ["b"]


def test_what_stays_short_even_if_all_leave_is_told() -> None:
    freed = ResourceSearch(a_full_node()).of(wanting(cpu="9"), 10)
    freed.work_out(FIRST)

    assert int(freed.flags[0]) == Blocked.CPU


def test_a_resource_that_no_node_has_stays_short() -> None:
    columns = a_full_node()
    wanted = Demands.of_waiting(a_pod("high", requests={"cpu": "1", GPU: "1"}))

    freed = ResourceSearch(columns).of(wanted, 10)
    freed.work_out(FIRST)

    assert freed.flags[0] != 0


def test_results_are_kept_for_pods_that_ask_for_the_same() -> None:
    search = ResourceSearch(a_full_node())

    assert search.of(wanting(cpu="2"), 10) is search.of(wanting(cpu="2"), 10)
    assert search.of(wanting(cpu="2"), 10) is not search.of(wanting(cpu="2"), 2)


def test_the_five_criteria_leave_equal_nodes_equal() -> None:
    columns = a_full_node()
    columns.put(a_node("node-2", cpu="3"))
    columns.put(ranked(a_pod("c", requests={"cpu": "3"}, node="node-2"), 1))

    freed = ResourceSearch(columns).of(wanting(cpu="2"), 10)

    assert freed.best_of().tolist() == [0, 1]
