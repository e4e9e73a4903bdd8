from dataclasses import replace

import pytest

from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.takeover_map import TakeoverMap
from plimsoll.decide.ceph.takeover.takeovers import Takeover, Takeovers, find_takeovers
from plimsoll.decide.ceph.takeover.view import TakeoverView
from tests.builders import a_claim, a_node, a_volume

DOMAINS = DomainLabels(driver="d.org", labels=("x/region", "x/zone"))
NODES = (
    a_node("a1", labels={"x/region": "west", "x/zone": "a"}),
    a_node("c1", labels={"x/region": "east", "x/zone": "c"}),
)
VIEW = TakeoverView(domains=DOMAINS, nodes=NODES)


def found(**targets: tuple[str, ...]) -> Takeovers:
    return find_takeovers(replace(VIEW, takeover=TakeoverMap(targets_by_source=targets)))


def test_domains_are_named_by_the_end_of_their_path() -> None:
    assert found(a=("c",)).found == (Takeover(source=("west", "a"), targets=(("east", "c"),)),)


def test_a_zone_without_nodes_is_found_by_the_volumes_in_it() -> None:
    label = {"topology.d.org/serves.west.b": "true"}
    volume = a_volume("v", claim=a_claim("data"), reachable_from=label)
    takeover = TakeoverMap(targets_by_source={"b": ("all",)})
    view = replace(VIEW, volumes=(volume,), takeover=takeover)
    assert find_takeovers(view).sources == (("west", "b"),)


@pytest.mark.parametrize(
    ("source", "targets", "problem"),
    [
        ("a", ("d",), "Takeover of a: no node is in d."),
        ("west.b.r.x", ("c",), "Takeover of west.b.r.x: it names 4 levels, and nodes have 2."),
    ],
)
def test_what_cannot_be_understood_is_told(
    source: str, targets: tuple[str, ...], problem: str
) -> None:
    assert found(**{source: targets}) == Takeovers(problems=(problem,))


def test_a_map_that_cannot_be_read_is_one_problem() -> None:
    assert find_takeovers(replace(VIEW, map_problem="not JSON")) == Takeovers(
        problems=("not JSON",)
    )


def test_no_domain_is_taken_over_by_what_is_in_it() -> None:
    everywhere = Takeover(source=("west",), targets=None)
    assert everywhere.is_by(("east", "c"))
    assert not everywhere.is_by(("west", "a"))
