"""One look at all nodes after the other: who is silent, and whose pods may be ended."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from hypothesis import given, strategies as st
from msgspec import structs

from plimsoll.api.core import Lease, LeaseSpec, Node
from plimsoll.api.meta import Condition
from plimsoll.decide.cluster.node_lifecycle.survey import NO_SURVEY, Survey, SurveySettings, look
from plimsoll.decide.cluster.node_lifecycle.taints import EvictionLeave
from tests.builders import ZONE, a_node, meta

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
SETTINGS = SurveySettings()
PERIOD = 5.0


def node(name: str, zone: str = "", ready: str = "True") -> Node:
    made = a_node(name, labels={ZONE: zone} if zone else {})
    conditions = (Condition(type="Ready", status=ready),)
    return structs.replace(made, status=structs.replace(made.status, conditions=conditions))


def renewed(*names: str, at: float) -> dict[str, Lease]:
    time = EPOCH + timedelta(seconds=at)
    return {name: Lease(metadata=meta(name), spec=LeaseSpec(renew_time=time)) for name in names}


class Watching:
    """Looks every five seconds at nodes of which some renew their leases each time."""

    def __init__(self, *nodes: Node) -> None:
        self.nodes = {each.name: each for each in nodes}
        self.survey: Survey = NO_SURVEY
        self.now = 1000.0
        self.leases: dict[str, Lease] = {}

    def go_on(self, seconds: float, alive: tuple[str, ...]) -> Survey:
        end = self.now + seconds
        while self.now < end:
            self.now += PERIOD
            self.leases |= renewed(*alive, at=self.now)
            self.nodes |= {name: node(name, self._zone(name)) for name in alive}
            self.look()
        return self.survey

    def look(self) -> Survey:
        self.survey = look(
            self.survey, self.nodes.values(), self.leases, now=self.now, settings=SETTINGS
        )
        self._report()
        return self.survey

    def _report(self) -> None:
        """The controller writes what it found."""
        found = {name: node(name, self._zone(name), "Unknown") for name in self.survey.silent}
        self.nodes |= found

    def _zone(self, name: str) -> str:
        return self.nodes[name].labels.get(ZONE, "")


NAMES = ("a-1", "a-2", "b-1", "b-2")


def four_nodes() -> Watching:
    return Watching(*(node(name, name[0]) for name in NAMES))


def test_a_node_that_falls_silent_is_found_and_its_pods_may_be_ended() -> None:
    watching = four_nodes()
    watching.go_on(30, NAMES)
    after = watching.go_on(50, NAMES[1:])
    assert after.silent == frozenset()
    after = watching.go_on(5, NAMES[1:])
    assert after.silent == {"a-1"}
    assert after.leave_for("a-1") is EvictionLeave.GRANTED
    assert after.leave_for("a-2") is EvictionLeave.WAITING


def test_a_node_that_is_heard_of_again_is_not_silent_any_more() -> None:
    watching = four_nodes()
    watching.go_on(90, NAMES[1:])
    after = watching.go_on(5, NAMES)
    assert after.silent == frozenset()
    assert after.granted == frozenset()


def test_while_no_node_is_ready_no_pod_is_ended() -> None:
    watching = four_nodes()
    watching.go_on(10, NAMES)
    after = watching.go_on(120, ())
    assert after.silent == set(NAMES)
    assert {after.leave_for(name) for name in NAMES} == {EvictionLeave.HALTED}


def test_after_all_were_silent_each_node_gets_its_full_time_to_come_back() -> None:
    watching = four_nodes()
    watching.go_on(10, NAMES)
    watching.go_on(120, ())
    after = watching.go_on(5, NAMES[:1])
    assert not after.is_halted
    after = watching.go_on(45, NAMES[:1])
    assert after.silent == frozenset()
    after = watching.go_on(10, NAMES[:1])
    assert after.silent == set(NAMES[1:])
    assert after.granted == {"a-2", "b-1"}


def test_a_new_controller_gives_nodes_time_before_it_ends_their_pods() -> None:
    """That they are silent is what the controller before it has written."""
    watching = Watching(node("a-1", "a", "Unknown"), node("b-1", "b"))
    assert watching.go_on(50, ("b-1",)).granted == frozenset()
    assert watching.go_on(10, ("b-1",)).granted == {"a-1"}


def test_time_in_which_the_controller_did_not_look_counts_against_no_node() -> None:
    watching = four_nodes()
    watching.go_on(30, NAMES)
    watching.now += 3600
    assert watching.look().silent == frozenset()
    assert watching.go_on(40, NAMES).silent == frozenset()


def test_nodes_of_one_zone_are_given_up_one_after_the_other() -> None:
    names = tuple(f"a-{number}" for number in range(9))
    watching = Watching(*(node(name, "a") for name in names))
    watching.go_on(30, names)
    lost = names[:2]
    first = watching.go_on(55, names[2:])
    assert first.silent == set(lost)
    assert first.granted == {"a-0"}
    assert watching.go_on(5, names[2:]).granted == {"a-0"}
    assert watching.go_on(5, names[2:]).granted == set(lost)


def test_in_a_small_zone_of_which_most_is_lost_no_pod_is_ended() -> None:
    names = tuple(f"a-{number}" for number in range(5))
    watching = Watching(node("b-1", "b"), *(node(name, "a") for name in names))
    watching.go_on(30, (*names, "b-1"))
    after = watching.go_on(120, ("a-4", "b-1"))
    assert after.silent == set(names[:4])
    assert after.granted == frozenset()


def test_a_zone_that_is_lost_as_a_whole_is_given_up() -> None:
    watching = four_nodes()
    watching.go_on(30, NAMES)
    after = watching.go_on(75, ("b-1", "b-2"))
    assert after.granted == {"a-1", "a-2"}


@given(steps=st.lists(st.sets(st.sampled_from(NAMES)), max_size=40))
def test_leave_is_given_for_lost_nodes_only_and_never_while_all_are_lost(
    steps: list[set[str]],
) -> None:
    watching = four_nodes()
    last_heard: Mapping[str, float] = dict.fromkeys(NAMES, watching.now + PERIOD)
    for alive in steps:
        after = watching.go_on(PERIOD, tuple(sorted(alive)))
        last_heard = {n: watching.now if n in alive else last_heard[n] for n in NAMES}
        assert after.granted <= {n for n, each in watching.nodes.items() if not each.is_ready}
        assert all(watching.now - last_heard[name] > 50 for name in after.silent)
        assert after.silent != set(NAMES) or not after.granted
