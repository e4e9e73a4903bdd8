"""The pods behind a service, as both kinds of lists show them.

Pods that a service selects and that have an address are listed, with whether they are ready.
Nothing answers at the addresses, since no containers run: the lists are what clients wait for.
"""

from collections.abc import Iterable
from enum import StrEnum

from plimsoll.api.core import Service, ServicePort
from plimsoll.api.networking import EndpointPort, EndpointTarget
from plimsoll.api.pods import Pod

HEADLESS = "service.kubernetes.io/headless"

Ports = tuple[EndpointPort, ...]


class EndpointsReason(StrEnum):
    CHANGED = "EndpointsChanged"
    """Pods that a service selects came, went, or became ready or not ready."""
    ENDED = "ServiceEnded"
    """The service is gone, or selects no pods any more."""


def selects_pods(service: Service) -> bool:
    return bool(service.spec.selector) and service.spec.type != "ExternalName"


def listed_pods(pods: Iterable[Pod]) -> list[Pod]:
    """Those with an address, in the order of their names."""
    found = (pod for pod in pods if pod.status.pod_ip and not pod.is_finished)
    return sorted(found, key=lambda pod: pod.name)


def pods_by_ports(service: Service, pods: Iterable[Pod]) -> dict[Ports, list[Pod]]:
    """A port that is named may have another number in each pod; pods without it are left out."""
    groups: dict[Ports, list[Pod]] = {}
    for pod in pods:
        found = [_port(port, pod) for port in service.spec.ports]
        ports = tuple(port for port in found if port is not None)
        if ports or not found:
            groups.setdefault(ports, []).append(pod)
    return groups


def _port(port: ServicePort, pod: Pod) -> EndpointPort | None:
    number = _number(port, pod)
    if number is None:
        return None
    return EndpointPort(
        name=port.name, port=number, protocol=port.protocol, app_protocol=port.app_protocol
    )


def _number(port: ServicePort, pod: Pod) -> int | None:
    if isinstance(port.target_port, int):
        return port.target_port or port.port
    sidecars = (c for c in pod.spec.init_containers if c.is_sidecar)
    for container in (*pod.spec.containers, *sidecars):
        for own in container.ports:
            if own.name == port.target_port and (own.protocol or "TCP") == port.protocol:
                return own.container_port
    return None


def target_of(pod: Pod) -> EndpointTarget:
    return EndpointTarget(kind="Pod", namespace=pod.namespace, name=pod.name, uid=pod.uid)


def hostname_of(service: Service, pod: Pod) -> str:
    """Pods of a stateful set have names of their own below the service's."""
    has_name = pod.spec.hostname and pod.spec.subdomain == service.name
    return pod.spec.hostname if has_name else ""


def labels_of(service: Service) -> dict[str, str]:
    """Of the lists of a service: its own labels, and what tells what they are."""
    labels = {name: value for name, value in service.metadata.labels.items() if name != HEADLESS}
    return labels | ({HEADLESS: ""} if service.is_headless else {})
