from collections.abc import Collection
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace as changed

from plimsoll.api.core import Node, NodeStatus
from plimsoll.api.meta import Condition
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.auto_takeover import (
    LEAVE_MAP,
    AddTakeover,
    AutoTakeoverView,
    EndTakeover,
    LeaveToPeople,
    decide_auto_takeover,
    find_lost_domains,
)
from plimsoll.decide.ceph.takeover.objections import PoolCopies
from plimsoll.decide.ceph.takeover.takeover_map import TakeoverMap
from tests.builders import a_node

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DOMAINS = DomainLabels(driver="d.org", labels=("x/zone", "x/rack"))
GOOD = PoolCopies(pool="good", size=3, min_size=1, inside=2)
SINGLE = PoolCopies(pool="single", size=1, min_size=1, inside=1)
COPIES = {("b",): (GOOD,), ("b", "r1"): (GOOD,)}


def node(zone: str, rack: str = "r1", *, ready: str = "True", minutes: float = 60) -> Node:
    """It has been so for that time."""
    made = a_node(f"{zone}-{rack}", labels={"x/zone": zone, "x/rack": rack})
    since = NOW - timedelta(minutes=minutes)
    condition = Condition(type="Ready", status=ready, last_transition_time=since)
    return changed(made, status=NodeStatus(conditions=(condition,)))


def view(*nodes: Node, own: Collection[str] = (), **targets: tuple[str, ...]) -> AutoTakeoverView:
    takeover = TakeoverMap(targets_by_source=targets)
    return AutoTakeoverView(domains=DOMAINS, nodes=nodes, takeover=takeover, own=own, now=NOW)


A, B = node("a"), node("b", ready="Unknown", minutes=6)
OTHER = node("b", "r2", ready="False", minutes=6)


def test_a_domain_is_lost_when_all_of_its_nodes_are() -> None:
    assert find_lost_domains(view(A, B, OTHER)) == (("b",),)
    assert find_lost_domains(view(A, B, node("b", "r2"))) == (("b", "r1"),)
    assert find_lost_domains(view(A, node("b"))) == ()


@pytest.mark.parametrize(("minutes", "is_lost"), [(4.9, False), (5, True)])
def test_a_domain_is_lost_after_some_time(minutes: float, *, is_lost: bool) -> None:
    found = find_lost_domains(view(A, B, node("b", "r2", ready="Unknown", minutes=minutes)))
    assert (("b",) in found) is is_lost


def test_a_node_that_does_not_say_since_when_is_not_lost() -> None:
    silent = a_node("b-r2", labels={"x/zone": "b", "x/rack": "r2"})
    assert find_lost_domains(view(A, B, silent)) == (("b", "r1"),)


def test_nothing_is_lost_where_no_node_is_ready_at_all() -> None:
    assert find_lost_domains(view(node("a", ready="Unknown"), B, OTHER)) == ()


def test_a_lost_domain_is_taken_over() -> None:
    assert decide_auto_takeover(view(A, B, OTHER), COPIES) == AddTakeover(
        source="b", why="No node in b has been ready for 300 s."
    )


def test_a_domain_whose_pools_do_not_survive_is_left_to_people() -> None:
    assert decide_auto_takeover(view(A, B, OTHER), {("b",): (GOOD, SINGLE)}) == LeaveToPeople(
        source="b",
        why="Pool single cannot be taken over: its only copy would be lost with the domain.",
    )


def test_while_the_driver_is_silent_nothing_is_taken_over() -> None:
    assert decide_auto_takeover(view(A, B, OTHER), {}) == LeaveToPeople(
        source="b",
        why="b is lost, and the driver does not say whether its pools survive that.",
    )


def test_of_two_domains_that_are_lost_at_once_none_is_taken_over() -> None:
    decided = decide_auto_takeover(view(A, B, OTHER, node("c", ready="Unknown")), COPIES)
    assert isinstance(decided, LeaveToPeople)
    assert decided.why.startswith("Domains b, c are lost at once")


def test_no_second_domain_is_taken_over_while_the_map_names_one() -> None:
    decided = decide_auto_takeover(view(A, node("c"), B, OTHER, c=("a",)), COPIES)
    assert isinstance(decided, LeaveToPeople)
    assert decided.why.startswith("b is lost while the map names c")


def test_what_the_map_names_already_is_not_written_again() -> None:
    assert decide_auto_takeover(view(A, B, OTHER, b=("a",)), COPIES) == LEAVE_MAP


BACK = (node("b", minutes=6), node("b", "r2", minutes=6))


def test_a_domain_that_is_back_is_given_back() -> None:
    assert decide_auto_takeover(view(A, *BACK, own=["b"], b=("all",)), {}) == EndTakeover(
        source="b", why="All nodes in b have been ready for 300 s."
    )


@pytest.mark.parametrize(
    "late",
    [
        pytest.param(node("b", "r2", minutes=1), id="ready-for-a-short-time"),
        pytest.param(node("b", "r2", ready="Unknown", minutes=9), id="one-node-is-missing"),
    ],
)
def test_it_is_not_given_back_before_all_of_its_nodes_are_there_for_some_time(late: Node) -> None:
    own = view(A, BACK[0], late, own=["b"], b=("all",))
    assert decide_auto_takeover(own, {}) == LEAVE_MAP


def test_an_entry_of_an_administrator_stays() -> None:
    assert decide_auto_takeover(view(A, *BACK, b=("all",)), {}) == LEAVE_MAP


def test_a_domain_without_nodes_is_not_back() -> None:
    assert decide_auto_takeover(view(A, own=["b"], b=("all",)), {}) == LEAVE_MAP
