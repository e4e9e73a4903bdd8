"""Addresses, families and node ports: given, kept, refused, released."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.networking.service import RULES
from plimsoll.apiserver.model.kinds.networking.service_allocation import allocate
from plimsoll.apiserver.model.kinds.networking.service_network import (
    ServiceNetwork,
    parse_address_range,
    parse_port_range,
)
from plimsoll.apiserver.model.status import ApiError

NETWORK = ServiceNetwork(
    addresses=parse_address_range("10.0.0.0/24"), node_ports=parse_port_range("30000-30099")
)
PORTS = [{"port": 80}]


@dataclass(frozen=True)
class Others:
    addresses: frozenset[str] = frozenset()
    ports: frozenset[int] = field(default_factory=frozenset)


def a_service(name: str = "web", **spec: Any) -> Document:
    service: Document = {"metadata": {"name": name, "namespace": "default"}, "spec": clone(spec)}
    RULES.default(service)
    return service


def allocated(service: Document, old: Document | None = None, others: Others | None = None) -> Any:
    allocate(service, old, NETWORK, others or Others())
    return service["spec"]


def refusal(service: Document, old: Document | None = None, others: Others | None = None) -> str:
    with pytest.raises(ApiError) as refused:
        allocate(service, old, NETWORK, others or Others())
    return str(refused.value)


def test_a_service_gets_an_address_that_its_name_leads_to() -> None:
    spec = allocated(a_service(ports=PORTS))

    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")
    assert spec["clusterIP"] == allocated(a_service(ports=PORTS))["clusterIP"]
    assert spec["clusterIP"] != allocated(a_service("other", ports=PORTS))["clusterIP"]


@given(st.sets(st.integers(1, 254)))
def test_no_two_services_have_one_address(taken: set[int]) -> None:
    addresses = frozenset(f"10.0.0.{number}" for number in taken)
    if len(taken) == 254:
        assert "range is full" in refusal(a_service(ports=PORTS), None, Others(addresses))
        return
    spec = allocated(a_service(ports=PORTS), None, Others(addresses))
    assert spec["clusterIP"] not in addresses
    assert 1 <= int(spec["clusterIP"].rpartition(".")[2]) <= 254


def test_the_first_part_of_the_range_is_for_those_who_choose() -> None:
    taken = Others(frozenset(f"10.0.0.{number}" for number in range(17, 254)))

    assert allocated(a_service(ports=PORTS), None, taken)["clusterIP"] == "10.0.0.254"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("10.0.0.7", "failed to allocate IP 10.0.0.7: provided IP is already allocated"),
        ("10.0.1.7", "(10.0.1.7) is not in the valid range. The range of valid IPs is 10.0.0.0/24"),
        ("nope", "must be a valid IP address"),
        ("fd00::1", "IPv6 is not configured on this cluster"),
    ],
)
def test_an_address_that_cannot_be_had_is_refused(address: str, said: str) -> None:
    service = a_service(clusterIP=address, ports=PORTS)

    assert said in refusal(service, None, Others(frozenset({"10.0.0.7"})))


def test_an_address_that_is_free_can_be_chosen() -> None:
    assert allocated(a_service(clusterIP="10.0.0.7", ports=PORTS))["clusterIPs"] == ["10.0.0.7"]


def test_headless_services_have_none() -> None:
    spec = allocated(a_service(clusterIP="None", selector={"app": "web"}))
    assert (spec["clusterIPs"], spec["ipFamilies"]) == (["None"], ["IPv4"])

    alone = allocated(a_service(clusterIP="None"))
    assert (alone["ipFamilies"], alone["ipFamilyPolicy"]) == (
        ["IPv4", "IPv6"],
        "RequireDualStack",
    )


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"ipFamilyPolicy": "RequireDualStack"}, "not configured for dual-stack services"),
        ({"ipFamilies": ["IPv6"]}, "spec.ipFamilies[0]"),
        ({"ipFamilyPolicy": "Nope"}, "spec.ipFamilyPolicy: Unsupported value"),
        ({"clusterIPs": ["10.0.0.9"]}, "must be empty when `clusterIP` is not specified"),
        (
            {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.8"]},
            "first value must match `clusterIP`",
        ),
    ],
)
def test_families_that_the_cluster_lacks_are_refused(spec: Document, said: str) -> None:
    assert said in refusal(a_service(ports=PORTS, **spec))


def test_preferring_two_families_gets_the_one_that_there_is() -> None:
    spec = allocated(a_service(ports=PORTS, ipFamilyPolicy="PreferDualStack"))

    assert (spec["ipFamilies"], len(spec["clusterIPs"])) == (["IPv4"], 1)


def test_what_a_client_leaves_out_is_kept() -> None:
    old = a_service(type="NodePort", ports=[{"port": 80, "name": "http"}])
    before = allocated(old)
    new = a_service(type="NodePort", ports=[{"port": 81, "name": "http"}])

    spec = allocated(new, old)

    assert spec["clusterIP"] == before["clusterIP"]
    assert spec["ports"][0]["nodePort"] == before["ports"][0]["nodePort"]


def test_an_address_that_changes_is_left_to_the_check_that_refuses_it() -> None:
    old = a_service(ports=PORTS)
    allocated(old)
    new = clone(old)
    new["spec"]["clusterIP"] = "10.0.0.3"

    allocated(new, old)

    (error,) = RULES.validate_update(new, old)
    assert (error.field, "may not change once set" in error.message) == ("spec.clusterIPs[0]", True)


def test_node_ports_are_given_and_shared_by_two_protocols() -> None:
    ports = [
        {"port": 53, "name": "a", "protocol": "TCP"},
        {"port": 53, "name": "b", "protocol": "UDP"},
        {"port": 80, "name": "c"},
    ]
    spec = allocated(a_service(type="NodePort", ports=ports))
    first, second, third = (port["nodePort"] for port in spec["ports"])

    assert first == second != third
    assert {first, third} <= set(NETWORK.node_ports)


@pytest.mark.parametrize(
    ("port", "said"),
    [
        (30007, "provided port is already allocated"),
        (80, "The range of valid ports is 30000-30099"),
    ],
)
def test_a_node_port_that_cannot_be_had_is_refused(port: int, said: str) -> None:
    service = a_service(type="NodePort", ports=[{"port": 80, "nodePort": port}])

    assert said in refusal(service, None, Others(ports=frozenset({30007})))


def test_load_balancers_may_do_without_node_ports() -> None:
    spec = allocated(
        a_service(type="LoadBalancer", ports=PORTS, allocateLoadBalancerNodePorts=False)
    )
    assert "nodePort" not in spec["ports"][0]

    local = a_service(type="LoadBalancer", ports=PORTS, externalTrafficPolicy="Local")
    assert allocated(local)["healthCheckNodePort"] in NETWORK.node_ports


def test_a_service_that_becomes_internal_releases_its_node_ports() -> None:
    old = a_service(type="LoadBalancer", ports=PORTS, externalTrafficPolicy="Local")
    allocated(old)
    new = clone(old)
    new["spec"]["type"] = "ClusterIP"

    spec = allocated(new, old)

    assert "nodePort" not in spec["ports"][0]
    for released in ("healthCheckNodePort", "externalTrafficPolicy"):
        assert released not in spec
    assert list(RULES.validate_update(new, old)) == []


def test_a_service_that_becomes_a_name_releases_its_address_and_gets_another_later() -> None:
    old = a_service(ports=PORTS)
    allocated(old)
    named = clone(old)
    named["spec"] |= {"type": "ExternalName", "externalName": "example.com"}

    spec = allocated(named, old)
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & spec.keys()

    again = clone(named)
    again["spec"]["type"] = "ClusterIP"
    assert allocated(again, named)["clusterIP"]


@pytest.mark.parametrize("text", ["10.0.0.1/24", "10.0.0.0/30", "x"])
def test_ranges_of_addresses_are_checked(text: str) -> None:
    with pytest.raises(ValueError, match=text.partition("/")[0]):
        parse_address_range(text)


@pytest.mark.parametrize("text", ["1", "0-5", "9-5", "1-70000", "a-b"])
def test_ranges_of_ports_are_checked(text: str) -> None:
    with pytest.raises(ValueError, match="range of ports"):
        parse_port_range(text)
