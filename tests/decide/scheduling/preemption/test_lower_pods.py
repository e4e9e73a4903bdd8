from hypothesis import given

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.preemption.lower_pods import (
    LARGEST_TIME,
    PRIORITY,
    PROTECTED,
    LowerPods,
    start_number,
)
from tests.builders import a_node, a_pod
from tests.decide.scheduling.builders import a_budget, ranked
from tests.decide.scheduling.columns.clusters import Chance, seeds

WEB = {"app": "web"}


def a_crowd() -> Columns:
    return Columns.of(
        [
            a_node("node-1"),
            ranked(a_pod("a", node="node-1"), 3),
            ranked(a_pod("b", node="node-1", labels=WEB), 1),
            ranked(a_pod("c", node="node-1"), 5),
        ]
    )


def names(lower: LowerPods) -> list[str]:
    lower.refresh()
    return [key.name for key in lower.keys[0]]


def test_pods_below_the_priority_are_in_the_order_of_their_importance() -> None:
    lower = LowerPods(5, a_crowd())

    assert names(lower) == ["a", "b"]
    assert lower.table[0, :2, PRIORITY].tolist() == [3, 1]


def test_protected_pods_are_asked_first() -> None:
    columns = a_crowd()
    lower = LowerPods(5, columns)
    assert names(lower) == ["a", "b"]

    columns.put(a_budget(labels=WEB))
    assert names(lower) == ["b", "a"]
    assert lower.table[0, :2, PROTECTED].tolist() == [1, 0]

    columns.put(a_budget(labels=WEB, allowed=1))
    assert names(lower) == ["a", "b"]


def test_only_nodes_that_changed_are_read_again() -> None:
    columns = a_crowd()
    columns.put(a_node("node-2"))
    lower = LowerPods(5, columns)
    lower.refresh()
    position = lower.changed.position

    columns.put(ranked(a_pod("d", node="node-2"), 0))
    lower.refresh()

    assert lower.changed.since(position) == {1}


def test_a_pod_that_has_not_started_comes_last() -> None:
    assert start_number(a_pod()) == LARGEST_TIME


@given(seed=seeds)
def test_the_nodes_with_the_least_bound_are_those_that_a_new_look_finds(seed: int) -> None:
    chance = Chance(seed)
    columns = Columns.of(a_node(f"node-{number}") for number in range(4))
    lower = LowerPods(5, columns)
    for _ in range(12):
        name = f"p-{chance.randint(0, 7)}"
        pod = ranked(a_pod(name, node=f"node-{chance.randint(0, 3)}"), chance.randint(0, 6))
        if columns.pods.get(pod.key) is None or chance.happens(30):
            columns.put(pod)
        else:
            columns.remove(pod)
        lower.refresh()
        anew = LowerPods(5, columns)
        anew.refresh()

        (bound, slots), (expected, there) = lower.least(), anew.least()
        assert (bound, {*slots.tolist()}) == (expected, {*there.tolist()})
        assert {slot: keys for slot, keys in lower.keys.items() if keys} == anew.keys
        assert {slot: rows for slot, rows in lower.rows.items() if rows} == anew.rows
