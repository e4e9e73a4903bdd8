"""Which nodes a fence keeps out, from its first record to its last."""

import pytest

from plimsoll.processes.driver.domains.fences import DomainFences, domain_id, is_in
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.records import FencePhase, WithheldMountRecord
from plimsoll.processes.driver.settings import NodeSettings
from plimsoll.wire.csi.errors import CsiStatusError

RACK = NodeSettings(id="node", topology={"zone": "b", "rack": "b1"})


@pytest.mark.parametrize(
    ("phase", "keeps_out"),
    [(FencePhase.FENCING, True), (FencePhase.FENCED, True), (FencePhase.RELEASING, False)],
)
def test_a_fence_counts_for_nodes_until_it_is_being_released(
    phase: FencePhase, *, keeps_out: bool
) -> None:
    fences = DomainFences(Ledger(None))
    fences.record({"zone": "b"}, phase)
    assert (fences.find(RACK) is not None) is keeps_out


def test_a_fence_counts_for_callers_when_it_has_come_to_its_end() -> None:
    fences = DomainFences(Ledger(None))
    fences.record({"zone": "b"}, FencePhase.FENCING)
    assert not fences.is_fenced({"zone": "b"})
    fences.record({"zone": "b"}, FencePhase.FENCED)
    assert fences.is_fenced({"zone": "b"})
    assert not fences.is_fenced({"zone": "b", "rack": "b1"})


def test_a_refusal_names_the_node_the_domain_and_the_remedy() -> None:
    fences = DomainFences(Ledger(None))
    fences.record({"zone": "b"}, FencePhase.FENCED)
    with pytest.raises(CsiStatusError, match=r"node node: is in zone=b, .* takeover map"):
        fences.check(RACK)
    fences.forget({"zone": "b"})
    fences.check(RACK)


def test_a_node_is_in_its_own_and_in_wider_domains() -> None:
    assert is_in(RACK.topology, {"zone": "b"})
    assert is_in(RACK.topology, {"zone": "b", "rack": "b1"})
    assert not is_in(RACK.topology, {"zone": "b", "rack": "b2"})
    assert not is_in({}, {"zone": "b"})


def test_a_domain_has_one_id_whatever_the_order_of_its_keys() -> None:
    assert domain_id({"zone": "b", "rack": "1"}) == domain_id({"rack": "1", "zone": "b"})


def test_what_was_withheld_is_known_by_node_and_volume() -> None:
    fences = DomainFences(Ledger(None))
    mount = WithheldMountRecord(id="/a", node_id="n1", volume_id="v1")
    fences.withhold(mount)
    assert list(fences.withheld("n1", "v1")) == [mount]
    assert list(fences.withheld("n2", "v1")) == []
    fences.give_back(mount)
    assert list(fences.withheld("n1", "v1")) == []
