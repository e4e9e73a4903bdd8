"""The addresses and node ports that services can have.

A service without an address of its own choice gets one by its name: the first that is free from a
place on that follows from the name. So the same services get the same addresses in every run, and
nothing but the services themselves has to be kept: what they show is what is taken. The first part
of each range is handed out last, which leaves it for those who choose for themselves.
"""

from collections.abc import Container, Iterator, Set as AbstractSet
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Protocol

from plimsoll.api.registry import Document

Network = IPv4Network | IPv6Network

ADDRESSES = ip_network("10.96.0.0/12")
NODE_PORTS = range(30000, 32768)
LAST_PORT = 65535
LEAST_ADDRESSES = 8
FULL = "range is full"
NOT_HANDED_OUT = 2
"""The first address of a network is its own, and the last one speaks to all."""


class UsedByServices(Protocol):
    """What other services have; looked up when it is needed."""

    @property
    def addresses(self) -> Container[str]: ...

    @property
    def ports(self) -> AbstractSet[int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceNetwork:
    addresses: Network = ADDRESSES
    node_ports: range = NODE_PORTS

    @property
    def family(self) -> str:
        return f"IPv{self.addresses.version}"

    @property
    def server_address(self) -> str:
        """Of the service `kubernetes`."""
        return str(self.addresses[1])

    def find_address(self, name: str, taken: Container[str]) -> str | None:
        """One that is free; None: there is none left."""
        number = self.addresses.num_addresses - NOT_HANDED_OUT
        kept = _kept(number, step=16, most=256)
        places = _places(number, kept, name)
        found = (str(self.addresses[place + 1]) for place in places)
        return next((address for address in found if address not in taken), None)

    def find_port(self, name: str, taken: Container[int]) -> int | None:
        """One that is free; None: there is none left."""
        number = len(self.node_ports)
        places = _places(number, _kept(number, step=32, most=128), name)
        found = (self.node_ports[place] for place in places)
        return next((port for port in found if port not in taken), None)


def place_of(service: Document) -> str:
    """By what its addresses and ports are found. One without a name is refused later."""
    meta = service["metadata"]
    return f"{meta.get('namespace')}/{meta.get('name', '')}"


def _kept(number: int, *, step: int, most: int) -> int:
    """How many are handed out last."""
    least = 16
    return 0 if number <= least else min(max(number // step, least), most)


def _places(number: int, kept: int, name: str) -> Iterator[int]:
    """Every place once, beginning with one that follows from the name."""
    many = number - kept
    start = int.from_bytes(sha256(name.encode()).digest()[:8]) % many
    yield from (kept + (start + step) % many for step in range(many))
    yield from range(kept)


def parse_address_range(text: str) -> Network:
    """Raises ValueError."""
    network = ip_network(text)
    if network.num_addresses < LEAST_ADDRESSES:
        raise ValueError(f"{text} has fewer than {LEAST_ADDRESSES} addresses")
    return network


def parse_port_range(text: str) -> range:
    """`30000-32767`, both included. Raises ValueError."""
    first, dash, last = text.partition("-")
    if not (dash and first.isdecimal() and last.isdecimal()):
        raise ValueError(f"{text!r} is not a range of ports, such as 30000-32767")
    if not 1 <= int(first) <= int(last) <= LAST_PORT:
        raise ValueError(f"a range of ports is between 1 and {LAST_PORT}, in that order")
    return range(int(first), int(last) + 1)
