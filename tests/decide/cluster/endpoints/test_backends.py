from msgspec import structs

from plimsoll.api.core import Service, ServicePort, ServiceSpec
from plimsoll.decide.cluster.endpoints.backends import (
    hostname_of,
    labels_of,
    pods_by_ports,
    selects_pods,
)
from tests.builders import a_pod, meta


def test_a_port_without_a_target_is_its_own() -> None:
    service = Service(spec=ServiceSpec(ports=(ServicePort(port=80),)))
    ((ports, pods),) = pods_by_ports(service, [a_pod()]).items()
    assert (ports[0].port, len(pods)) == (80, 1)


def test_pods_of_a_stateful_set_have_names_below_the_service() -> None:
    service, pod = Service(metadata=meta("web", "default")), a_pod("web-0")
    named = structs.replace(pod, spec=structs.replace(pod.spec, hostname="web-0", subdomain="web"))
    assert (hostname_of(service, pod), hostname_of(service, named)) == ("", "web-0")


def test_services_without_a_selector_list_nothing_themselves() -> None:
    assert not selects_pods(Service())
    assert labels_of(Service(spec=ServiceSpec(cluster_ip="None"))) == {
        "service.kubernetes.io/headless": ""
    }
