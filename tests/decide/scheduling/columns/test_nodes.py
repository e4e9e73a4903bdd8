from hypothesis import given, strategies as st

from plimsoll.decide.scheduling.columns.nodes import (
    NodeColumn,
    NodeIndex,
    NodeTable,
    mask_of,
    slots_of,
)


def test_a_node_keeps_its_slot_and_leaves_it_to_the_next() -> None:
    index = NodeIndex()
    assert [index.add(name) for name in ("a", "b", "c")] == [0, 1, 2]

    index.remove("b")
    assert (index.find("b"), index.find("c"), index.alive) == (None, 2, 0b101)

    assert index.add("d") == 1
    assert len(index) == 3


def test_ranks_follow_names_and_not_slots() -> None:
    index = NodeIndex()
    for name in ("c", "a", "b"):
        index.add(name)

    assert index.ranks[:3].tolist() == [2, 0, 1]
    assert index.ranks[3] > 2


def test_columns_grow_with_the_cluster() -> None:
    index = NodeIndex()
    column, table = NodeColumn(index, 7), NodeTable(index, 2)
    for number in range(500):
        index.add(f"n{number}")
    column.values[499] = 1
    table.values[1, 499] = 1
    index.add("one more")

    assert column.values[:500].sum() == 7 * 499 + 1
    assert table.values.sum() == 1
    assert len(column.values) == table.values.shape[1] == index.size


@given(slots=st.sets(st.integers(0, 300)))
def test_sets_of_nodes_are_the_same_as_bits_and_as_masks(slots: set[int]) -> None:
    bits = sum(1 << slot for slot in slots)

    assert slots_of(bits) == sorted(slots)
    assert {slot for slot, is_in in enumerate(mask_of(bits, 301)) if is_in} == slots
