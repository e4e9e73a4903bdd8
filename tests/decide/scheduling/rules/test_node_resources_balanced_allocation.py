from plimsoll.decide.scheduling.columns.resources import Demands, Load
from plimsoll.decide.scheduling.rules.node_resources_balanced_allocation import score
from tests.builders import a_node, a_pod


def test_a_pod_that_brings_cpu_and_memory_together_is_welcome() -> None:
    """The columns are compared with the plain score in the test of NodeResourcesFit."""
    load = Load()
    load.add(Demands.of_placed(a_pod("p", requests={"cpu": "2"})), 1)
    node = a_node(cpu="4", memory="4Gi")

    evens_out = Demands.of_waiting(a_pod(requests={"memory": "2Gi"}))
    adds_to_it = Demands.of_waiting(a_pod(requests={"cpu": "2"}))

    assert score(evens_out, node, load) > score(adds_to_it, node, load)


def test_a_pod_that_asks_for_nothing_is_not_concerned() -> None:
    assert score(Demands.of_waiting(a_pod()), a_node(), Load()) == 0
