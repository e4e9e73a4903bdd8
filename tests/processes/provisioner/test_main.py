"""What decisions are told of flags and of the driver, and where health is answered for."""

from random import Random

import msgspec
import pytest

from plimsoll.processes.provisioner.clients import Clients
from plimsoll.processes.provisioner.link import DriverFacts
from plimsoll.processes.provisioner.loops import decisions_of
from plimsoll.processes.provisioner.main import address_of, pages
from plimsoll.processes.provisioner.settings import ProvisionerFlags
from plimsoll.reconcile.process import PagesAddress
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.config import ConfigError
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.kube import KubeClient
from tests.wire.scripted import ScriptedTransport

FACTS = DriverFacts(
    name="small.test",
    plugin_capabilities=frozenset({"CONTROLLER_SERVICE", "VOLUME_ACCESSIBILITY_CONSTRAINTS"}),
    controller_capabilities=frozenset({"CREATE_DELETE_VOLUME"}),
    node_id="id-1",
    segment={"host": "node-1"},
)


def clients() -> Clients:
    clock = SteppedClock()
    kube = KubeClient(ScriptedTransport(), clock=clock, chance=Random(1))
    driver = InProcessCsi({}, clock)
    return Clients(kube=kube, capacity=kube, election=kube, driver=driver, clock=clock)


def given(**changes: object) -> ProvisionerFlags:
    return msgspec.structs.replace(ProvisionerFlags(), **changes)


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        ("", None),
        (":8080", PagesAddress(host="", port=8080)),
        ("127.0.0.1:0", PagesAddress(host="127.0.0.1", port=0)),
        ("[::1]:9", PagesAddress(host="::1", port=9)),
    ],
)
def test_health_is_answered_for_where_it_was_asked_for(
    endpoint: str, expected: PagesAddress | None
) -> None:
    assert address_of(given(http_endpoint=endpoint)) == expected
    assert address_of(given(metrics_address=endpoint)) == expected


@pytest.mark.parametrize("endpoint", ["8080", "localhost", ":http"])
def test_an_endpoint_without_a_port_is_refused(endpoint: str) -> None:
    with pytest.raises(ConfigError, match="host:port"):
        address_of(given(http_endpoint=endpoint))


def test_metrics_are_where_they_were_asked_for() -> None:
    assert set(pages(Metrics(), "/numbers")) == {
        "/numbers",
        "/healthz",
        "/healthz/leader-election",
    }


def test_identities_tell_provisioners_apart() -> None:
    identity = decisions_of(ProvisionerFlags(), FACTS, clients()).identity
    began_at, number, driver = identity.split("-", 2)
    assert began_at.isdigit()
    assert 0 <= int(number) < 10_000
    assert driver == "small.test"
    on_node = decisions_of(given(node_deployment=True, node_name="n"), FACTS, clients())
    assert on_node.identity.endswith("-small.test-n")


def test_on_a_node_the_drivers_word_for_it_counts() -> None:
    told = decisions_of(given(node_deployment=True, node_name="n"), FACTS, clients())
    assert told.node is not None
    assert (told.node.node_name, told.node.node_id) == ("n", "id-1")
    assert told.node.segment == {"host": "node-1"}
    assert decisions_of(ProvisionerFlags(), FACTS, clients()).node is None


def test_topology_can_be_switched_off() -> None:
    assert decisions_of(ProvisionerFlags(), FACTS, clients()).supports_topology
    off = given(feature_gates={"Topology": False})
    assert not decisions_of(off, FACTS, clients()).supports_topology


@pytest.mark.parametrize(("length", "expected"), [(-1, None), (0, 0), (8, 8)])
def test_a_length_below_nothing_means_the_whole_uid(length: int, expected: int | None) -> None:
    told = decisions_of(given(volume_name_uuid_length=length), FACTS, clients())
    assert told.volume_name_uuid_length == expected
