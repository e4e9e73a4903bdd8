from plimsoll.decide.ceph.domain_labels import DomainNotKnown, HomeDomain
from plimsoll.processes.driver.homes import NodeHomes


def test_a_node_that_no_labels_are_read_for_is_known() -> None:
    assert (NodeHomes().told("n1"), NodeHomes().why_unknown("n1")) == ({}, "")


def test_a_node_is_where_it_was_last_found() -> None:
    homes = NodeHomes()
    homes.put("n1", DomainNotKnown(status="Node n1 has no label zone."))
    assert (homes.told("n1"), homes.why_unknown("n1")) == ({}, "Node n1 has no label zone.")
    homes.put("n1", HomeDomain(topology={"zone": "a"}, path=("a",)))
    assert (homes.told("n1"), homes.why_unknown("n1")) == ({"zone": "a"}, "")
