from typing import Any

import pytest

from plimsoll.apiserver.model.kinds.pods.network import network_errors
from tests.apiserver.model.kinds.pods.objects import a_container, a_pod, causes, complaints


@pytest.mark.parametrize(
    ("config", "refused"),
    [
        pytest.param({"nameservers": ["x"]}, ("Invalid", "nameservers[0]"), id="server"),
        pytest.param(
            {"nameservers": ["10.0.0.1"] * 4}, ("Invalid", "nameservers"), id="too-many-servers"
        ),
        pytest.param({"searches": ["a b"]}, ("Invalid", "searches[0]"), id="search"),
        pytest.param({"options": [{"value": "1"}]}, ("Required", "options[0]"), id="option"),
    ],
)
def test_dns_settings_with_one_fault_are_refused_for_it_alone(
    config: dict[str, Any], refused: tuple[str, str]
) -> None:
    reason, field = refused

    assert complaints(a_pod(dnsConfig=config)) == {(reason, f"spec.dnsConfig.{field}"): 1}


def test_search_domains_may_have_underscores_and_a_dot_at_the_end() -> None:
    assert not complaints(a_pod(dnsConfig={"searches": ["_tcp.example.com.", "."]}))


def test_on_the_network_of_the_host_a_port_has_one_number() -> None:
    ports = [{"containerPort": 80, "hostPort": 81, "protocol": "TCP"}]
    pod = a_pod(hostNetwork=True, containers=[a_container(ports=ports)])

    assert complaints(pod) == {("Invalid", "spec.containers[0].ports[0].hostPort"): 1}


def test_a_template_may_leave_the_port_of_the_host_to_the_pod() -> None:
    ports = [{"containerPort": 80}]
    spec = {"hostNetwork": True, "dnsPolicy": "Default", "containers": [a_container(ports=ports)]}

    assert not causes(network_errors(spec, "spec", is_pod=False))


def test_a_pod_has_one_host_name() -> None:
    assert complaints(a_pod(hostnameOverride="x", setHostnameAsFQDN=True)) == {
        ("Forbidden", "spec.hostnameOverride"): 1
    }
