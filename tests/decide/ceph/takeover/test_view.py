from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.view import (
    TakeoverView,
    domain_segment,
    find_domain_path,
    labels_within,
)
from tests.builders import a_claim, a_node, a_pod, a_volume

DRIVER = "d.org"
DOMAINS = DomainLabels(driver=DRIVER, labels=("x/zone", "x/rack"))
B, B1 = f"topology.{DRIVER}/serves.b", f"topology.{DRIVER}/serves.b.r1"
NODES = (
    a_node("a1", labels={"x/zone": "a", "x/rack": "r1"}),
    a_node("lost", labels={"x/zone": "a"}),
)
VOLUME = a_volume("v", claim=a_claim("data"), reachable_from={B1: "true"})
VIEW = TakeoverView(domains=DOMAINS, nodes=NODES, volumes=(VOLUME,))


def test_drivers_name_a_domain_by_the_values_of_its_levels() -> None:
    zone, rack = f"topology.{DRIVER}/zone", f"topology.{DRIVER}/rack"
    assert domain_segment(DOMAINS, ("b",)) == {zone: "b"}
    assert domain_segment(DOMAINS, ("b", "r1")) == {zone: "b", rack: "r1"}
    assert find_domain_path(DOMAINS, {zone: "b", rack: "r1"}) == ("b", "r1")
    assert find_domain_path(DOMAINS, {zone: "b"}) == ("b",)
    assert find_domain_path(DOMAINS, {rack: "r1"}) is None
    assert find_domain_path(DOMAINS, {"other/zone": "b"}) is None
    assert find_domain_path(DOMAINS, {}) == ()


def test_a_node_without_one_of_the_labels_is_nowhere() -> None:
    assert VIEW.homes == {"a1": ("a", "r1")}


def test_domains_are_known_by_nodes_volumes_and_fences() -> None:
    view = TakeoverView(
        domains=DOMAINS, nodes=NODES, volumes=(VOLUME,), fenced=[("c",)], closed=[("d",)]
    )
    assert view.known == {("a",), ("a", "r1"), ("b",), ("b", "r1"), ("c",), ("d",)}


def test_the_labels_of_a_domain_are_its_own_and_those_of_all_that_is_in_it() -> None:
    assert labels_within(VIEW, ("b",)) == {B, B1}


def test_pods_use_the_labels_that_their_volumes_require_on_their_nodes() -> None:
    pods = (a_pod("db-0", claims=["data"], node="a1"), a_pod("db-1", claims=["data"]))
    view = TakeoverView(domains=DOMAINS, nodes=NODES, volumes=(VOLUME,), pods=pods)
    assert view.users == {("a1", B1): ["default/db-0"]}
