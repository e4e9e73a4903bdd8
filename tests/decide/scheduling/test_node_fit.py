from collections import Counter

from hypothesis import given, settings

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.node_fit import NodeFits
from tests.builders import ZONE, a_node, a_pod
from tests.decide.scheduling.columns.clusters import Chance, seeds


def test_pods_with_the_same_spec_share_what_is_known_about_nodes() -> None:
    standings = NodeFits(Columns.of([a_node()]))

    assert standings.of(a_pod("p")) is standings.of(a_pod("q"))
    assert standings.of(a_pod("p")) is not standings.of(a_pod("r", requests={"cpu": "1"}))


def test_what_is_known_follows_pods_and_nodes() -> None:
    columns = Columns.of([a_node("a", cpu="2"), a_node("b", cpu="2")])
    standings, pod = NodeFits(columns), a_pod("new", requests={"cpu": "1500m"})
    assert standings.of(pod).flags[:2].tolist() == [0, 0]
    best = standings.of(pod).scores()[0]

    columns.put(a_pod("small", node="a", requests={"cpu": "250m"}))
    assert standings.of(pod).flags[:2].tolist() == [0, 0]
    assert standings.of(pod).scores()[0] < best
    running = a_pod("p", node="a", requests={"cpu": "1"})
    columns.put(running)
    assert standings.of(pod).flags[:2].tolist() == [Blocked.CPU, 0]
    columns.remove(running)
    assert standings.of(pod).flags[:2].tolist() == [0, 0]
    columns.remove(a_node("b"))
    assert int(standings.of(pod).flags[1]) & Blocked.NO_NODE
    columns.put(a_node("c", labels={ZONE: "a"}, cpu="1"))
    assert standings.of(pod).flags[1] == Blocked.CPU


@given(seed=seeds)
@settings(max_examples=50, deadline=None)
def test_how_many_nodes_have_which_flags_follows_pods(seed: int) -> None:
    chance = Chance(seed)
    columns = Columns.of(a_node(f"node-{number}", cpu="2") for number in range(12))
    standings, pod = NodeFits(columns), a_pod("new", requests={"cpu": "1500m"})
    for _ in range(6):
        for number in chance.sample(range(12), chance.randint(0, 12)):
            running = a_pod(f"p-{number}", node=f"node-{number}", requests={"cpu": "1"})
            if columns.pods.get(running.key) is None:
                columns.put(running)
            else:
                columns.remove(running)

        known = standings.of(pod)

        assert known.tally() == Counter(known.flags.tolist())
        assert known.is_feasible.tolist() == [not flags for flags in known.flags.tolist()]


@given(seed=seeds)
@settings(max_examples=50, deadline=None)
def test_what_is_known_of_changed_nodes_is_what_a_new_look_finds(seed: int) -> None:
    """Whether few nodes changed or many, and whether they will do or not."""
    chance = Chance(seed)
    columns = Columns.of(a_node(f"node-{number}", cpu="2") for number in range(12))
    standings, pod = NodeFits(columns), a_pod("new", requests={"cpu": "1500m"})
    for round_ in range(8):
        for number in chance.sample(range(12), chance.randint(0, 12)):
            cpu = chance.choice(["100m", "200m", "1"])
            columns.put(a_pod(f"p-{number}", node=f"node-{number}", requests={"cpu": cpu}))
        if round_ == chance.randint(0, 8):
            columns.put(a_node("node-3", cpu="3"))

        known, anew = standings.of(pod), NodeFits(columns).of(pod)

        assert known.flags.tolist() == anew.flags.tolist()
        assert known.keys.tolist() == anew.keys.tolist()
