import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.networking.addresses import (
    address_errors,
    address_warnings,
    load_balancer_errors,
    range_errors,
    range_warnings,
    reachable_errors,
)
from plimsoll.apiserver.model.kinds.table import rules_for


def detail(text: str) -> str:
    return next((error.detail for error in address_errors(text, "ip")), "")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("10.0.0.1", ""),
        ("::", ""),
        ("2001:db8::1", ""),
        ("2001:0db8::0001", ""),
        ("010.0.0.1", "leading 0s"),
        ("10.0.0.001", "leading 0s"),
        ("::ffff:10.00.0.1", "leading 0s"),
        ("::ffff:10.0.0.1", "IPv4-mapped"),
        ("fe80::1%eth0", "valid IP address"),
        ("10.0.0", "valid IP address"),
        ("10.0.0.0400", "valid IP address"),
    ],
)
def test_an_address_must_mean_the_same_to_every_program(text: str, complaint: str) -> None:
    assert complaint in detail(text)
    assert bool(complaint) == bool(detail(text))


def test_an_object_may_keep_the_odd_address_that_it_has() -> None:
    assert list(address_errors("010.0.0.1", "ip", known=["010.0.0.1"])) == []


@pytest.mark.parametrize("text", ["127.0.0.1", "::1", "169.254.1.1", "::"])
def test_addresses_that_no_other_machine_can_reach_are_refused_where_it_matters(text: str) -> None:
    assert [error.field for error in reachable_errors(text, "ip")] == ["ip"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("10.0.0.0/8", ""),
        ("2001:db8::/32", ""),
        ("010.0.0.0/8", "leading 0s"),
        ("10.0.0.0/08", "leading 0s"),
        ("::ffff:10.0.0.0/104", "IPv4-mapped"),
        ("10.0.0.1/8", "bits set beyond"),
        ("10.0.0.0", "valid CIDR"),
        ("10.0.0.0/255.0.0.0", "valid CIDR"),
        ("10.0.0.0/33", "valid CIDR"),
        ("fe80::1%eth0/128", "valid CIDR"),
    ],
)
def test_a_range_must_mean_the_same_to_every_program(text: str, complaint: str) -> None:
    found = next((error.detail for error in range_errors(text, "cidr")), "")
    assert complaint in found
    assert bool(complaint) == bool(found)


def test_the_usual_way_to_write_an_address_is_suggested() -> None:
    assert 'use "10.0.0.1"' in address_warnings("010.0.0.1", "ip")[0]
    assert '("fe80::a")' in address_warnings("FE80::A", "ip")[0]
    assert '("fe80::/10")' in range_warnings("FE80::/10", "cidr")[0]
    assert address_warnings("10.0.0.1", "ip") == []


def balanced(*points: Document) -> Document:
    return {"status": {"loadBalancer": {"ingress": list(points)}}}


@pytest.mark.parametrize(
    ("point", "field"),
    [
        pytest.param({"ip": "010.0.0.1"}, "ip", id="leading-zero"),
        pytest.param({"ip": "x"}, "ip", id="no-address"),
        pytest.param({"hostname": "10.0.0.1"}, "hostname", id="an-address-as-a-name"),
        pytest.param({"hostname": "A_"}, "hostname", id="no-name"),
    ],
)
def test_a_load_balancer_is_reached_by_an_address_or_a_name(point: Document, field: str) -> None:
    found = load_balancer_errors(balanced({"hostname": "a.example.com"}, point), balanced())
    assert {error.field for error in found} == {f"status.loadBalancer.ingress[1].{field}"}


def test_an_address_that_a_load_balancer_has_may_stay() -> None:
    held = balanced({"ip": "010.0.0.1"})
    assert not list(load_balancer_errors(held, held))


@pytest.mark.parametrize(("group", "kind"), [("networking.k8s.io", "Ingress"), ("", "Service")])
def test_the_status_of_services_and_ingresses_is_checked(group: str, kind: str) -> None:
    wrong = balanced({"ip": "010.0.0.1"})
    assert list(rules_for(group, kind).validate_status(wrong, balanced()))
