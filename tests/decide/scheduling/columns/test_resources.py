from plimsoll.decide.scheduling.columns.nodes import NodeIndex
from plimsoll.decide.scheduling.columns.resources import (
    ALL_ROWS,
    LARGEST,
    USED_ROWS,
    Demands,
    Load,
    NodeResources,
    ResourceColumns,
)
from tests.builders import a_node, a_pod

EVERYWHERE = slice(None)


def test_a_node_is_written_with_what_it_has_and_what_is_taken() -> None:
    index = NodeIndex()
    columns = ResourceColumns(index)
    load = Load()
    load.add(Demands.of_placed(a_pod("p", requests={"cpu": "1500m"})), 1)

    slot = index.add("n")
    columns.write(slot, NodeResources.of(a_node(cpu="2")), load)

    rows = columns.rows(EVERYWHERE)
    assert rows[ALL_ROWS][1, slot] == 2000
    assert rows[USED_ROWS][:2, slot].tolist() == [1, 1500]
    columns.clear(slot)
    assert not columns.rows(EVERYWHERE)[:, slot].any()


def test_a_load_without_its_last_pod_is_empty() -> None:
    demands, load = Demands.of_placed(a_pod("p", requests={"cpu": "1"})), Load()
    load.add(demands, 1)
    fork = load.fork()
    load.add(demands, -1)

    assert not any(load.amounts.values())
    assert load.non_zero == (0, 0)
    assert fork.get("cpu") == 1000


def test_numbers_that_would_not_add_up_are_cut() -> None:
    index = NodeIndex()
    columns = ResourceColumns(index)
    columns.write(index.add("n"), NodeResources({"memory": 2**80}), Load())

    assert columns.rows(EVERYWHERE)[ALL_ROWS][2, 0] == LARGEST


def test_a_fork_changes_alone() -> None:
    index = NodeIndex()
    columns = ResourceColumns(index)
    columns.write(index.add("n"), NodeResources({"cpu": 1, "example.com/gpu": 2}), Load())
    fork = columns.fork(index)
    fork.clear(0)

    assert columns.scalars["example.com/gpu"].values[0, 0] == 2
    assert not fork.scalars["example.com/gpu"].values.any()
