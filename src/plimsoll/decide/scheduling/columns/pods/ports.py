"""Which nodes have a port of theirs taken by a pod."""

from collections.abc import Iterator
from typing import NamedTuple

from plimsoll.api.pods import Pod

ANY_ADDRESS = "0.0.0.0"  # noqa: S104  nothing listens here
USUAL_PROTOCOL = "TCP"


class HostPort(NamedTuple):
    address: str
    protocol: str
    number: int

    def excludes(self, other: "HostPort") -> bool:
        """Whether a node cannot give both away. All addresses are one of IPv4 only."""
        if (self.protocol, self.number) != (other.protocol, other.number):
            return False
        return self.address == other.address or ANY_ADDRESS in (self.address, other.address)


NO_PORTS: frozenset[HostPort] = frozenset()


def host_ports(pod: Pod) -> frozenset[HostPort]:
    """The ports of its node that the pod takes as long as it runs: init containers are gone by
    then, unless they are sidecars."""
    # Most pods take none, and every decision asks.
    spec = pod.spec
    for container in spec.containers + spec.init_containers:
        if container.ports:
            return frozenset(_host_ports(pod))
    return NO_PORTS


def _host_ports(pod: Pod) -> Iterator[HostPort]:
    sidecars = (each for each in pod.spec.init_containers if each.is_sidecar)
    for container in (*sidecars, *pod.spec.containers):
        for port in container.ports:
            if port.host_port > 0:
                yield HostPort(
                    port.host_ip or ANY_ADDRESS, port.protocol or USUAL_PROTOCOL, port.host_port
                )


class PortIndex:
    def __init__(self) -> None:
        self._pods: dict[HostPort, dict[int, int]] = {}
        """How many pods have the port, by slot."""
        self.taken: dict[HostPort, int] = {}
        """The same nodes as bits. Not to be written to."""
        self._by_number: dict[tuple[str, int], set[HostPort]] = {}

    def add(self, pod: Pod, slot: int, step: int) -> None:
        """A pod came to the node in the slot (1), or left it (-1)."""
        for port in host_ports(pod):
            self._count(port, slot, self._pods.get(port, {}).get(slot, 0) + step)

    def nodes_excluding(self, port: HostPort) -> int:
        """The nodes that cannot give the port away, as bits."""
        found = 0
        for other in self._by_number.get((port.protocol, port.number), ()):
            if port.excludes(other):
                found |= self.taken[other]
        return found

    def _count(self, port: HostPort, slot: int, pods: int) -> None:
        if pods:
            self._pods.setdefault(port, {})[slot] = pods
            self.taken[port] = self.taken.get(port, 0) | 1 << slot
            self._by_number.setdefault((port.protocol, port.number), set()).add(port)
            return
        del self._pods[port][slot]
        self.taken[port] ^= 1 << slot
        if not self.taken[port]:
            self._forget(port)

    def _forget(self, port: HostPort) -> None:
        del self._pods[port], self.taken[port]
        same_number = self._by_number[port.protocol, port.number]
        same_number.remove(port)
        if not same_number:
            del self._by_number[port.protocol, port.number]

    def fork(self) -> "PortIndex":
        twin = PortIndex()
        twin._pods = {port: pods.copy() for port, pods in self._pods.items()}
        twin.taken = self.taken.copy()
        twin._by_number = {number: ports.copy() for number, ports in self._by_number.items()}
        return twin
