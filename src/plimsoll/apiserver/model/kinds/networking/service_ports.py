"""Node ports: the numbers by which every node answers for a service."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.networking.service_network import (
    FULL,
    ServiceNetwork,
    UsedByServices,
    place_of,
)

ON_NODES = ("NodePort", "LoadBalancer")
CHECK = "healthCheckNodePort"


def node_ports(spec: Document) -> list[int]:
    return [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]


def gets_ports(spec: Document) -> bool:
    if spec["type"] == "LoadBalancer":
        return bool(spec.get("allocateLoadBalancerNodePorts", True))
    return bool(spec["type"] == "NodePort")


def is_checked(spec: Document) -> bool:
    """A load balancer asks each node whether it has pods of the service."""
    return bool(spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local")


def keep_ports(spec: Document, before: Document) -> None:
    """What a client leaves out stays as it is: by the name of the port, unless another port of the
    service has the number now."""
    if gets_ports(spec) and gets_ports(before):
        used = set(node_ports(spec)) & set(node_ports(before))
        known = {p.get("name", ""): p.get("nodePort", 0) for p in before.get("ports") or ()}
        for port in spec.get("ports") or ():
            number = known.get(port.get("name", ""), 0)
            if not port.get("nodePort") and number and number not in used:
                port["nodePort"] = number
    if is_checked(spec) and is_checked(before) and before.get(CHECK):
        spec[CHECK] = spec.get(CHECK) or before[CHECK]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortAllocation:
    """Of one service."""

    service: Document
    before: Document
    """What was specified so far; empty for a new service."""
    network: ServiceNetwork
    taken: UsedByServices
    given: dict[int, int] = field(default_factory=dict)
    """Node ports by the port of the service: two protocols share one."""

    def allocate(self) -> Iterator[FieldError]:
        """Fill in what the service needs; what is wrong with what it asks for."""
        spec = self.service["spec"]
        if spec["type"] in ON_NODES:
            for index, port in enumerate(spec.get("ports") or ()):
                yield from self._allocate_port(port, f"spec.ports[{index}].nodePort")
        if is_checked(spec):
            yield from self._allocate_number(spec, CHECK, f"spec.{CHECK}")

    def _allocate_port(self, port: Document, path: str) -> Iterator[FieldError]:
        number = port.get("port", 0)
        if not port.get("nodePort"):
            if not gets_ports(self.service["spec"]):
                return
            shared = self.given.get(number) or self._asked_for(number)
            if shared:
                port["nodePort"] = shared
        if port.get("nodePort", 0) != self.given.get(number):
            yield from self._allocate_number(port, "nodePort", path)
        self.given[number] = port.get("nodePort", 0)

    def _asked_for(self, number: int) -> int:
        """The node port that another protocol of the same port names."""
        ports = self.service["spec"]["ports"]
        named = (p["nodePort"] for p in ports if p.get("port") == number and p.get("nodePort"))
        return next(named, 0)

    def _allocate_number(self, holder: Document, name: str, path: str) -> Iterator[FieldError]:
        if holder.get(name):
            yield from self._refusals(holder[name], path)
            return
        own = {*node_ports(self.service["spec"]), *self.given.values()}
        place = place_of(self.service)
        found = self.network.find_port(f"{place}/{path}", self.taken.ports | own)
        if found is None:
            yield FieldError.invalid(path, 0, f"failed to allocate a nodePort: {FULL}")
        else:
            holder[name] = found

    def _refusals(self, port: int, path: str) -> Iterator[FieldError]:
        if port in {*node_ports(self.before), self.before.get(CHECK, 0)}:
            return
        ports = self.network.node_ports
        if port not in ports:
            valid = f"The range of valid ports is {ports[0]}-{ports[-1]}"
            said = f"provided port is not in the valid range. {valid}"
            yield FieldError.invalid(path, port, said)
        elif port in self.taken.ports or port in self.given.values():
            yield FieldError.invalid(path, port, "provided port is already allocated")
