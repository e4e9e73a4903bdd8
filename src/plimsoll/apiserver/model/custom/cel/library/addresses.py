"""Addresses and ranges of networks."""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from plimsoll.apiserver.model.custom.cel.library.types import readable, want
from plimsoll.apiserver.model.custom.cel.values import CelError, Meter

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class CelAddress:
    address: Address

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class CelNetwork:
    address: Address
    """As it was written, with the bits of its host."""
    network: Network

    def __str__(self) -> str:
        return f"{self.address}/{self.network.prefixlen}"


def read_address(text: Any) -> CelAddress:
    if isinstance(text, CelNetwork):
        return CelAddress(text.address)
    want(str, text)
    if len(text) > _LONGEST or "%" in text:
        raise CelError(f'IP Address "{text}" parse error during conversion from string')
    found = ipaddress.ip_address(text)
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        raise CelError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return CelAddress(found)


def read_network(text: Any) -> CelNetwork:
    want(str, text)
    address, slash, length = text.partition("/")
    if len(text) > _LONGEST or not slash or not length.isdigit():
        raise CelError(f'network address parse error during conversion from string "{text}"')
    return CelNetwork(read_address(address).address, ipaddress.ip_network(text, strict=False))


def _family(_meter: Meter, value: Any) -> int:
    want(CelAddress, value)
    return int(value.address.version)


def _of_address(name: str) -> Callable[..., bool]:
    def method(_meter: Meter, value: Any) -> bool:
        want(CelAddress, value)
        return bool(getattr(value.address, name))

    return method


def _is_global_unicast(_meter: Meter, value: Any) -> bool:
    want(CelAddress, value)
    a = value.address
    odd = a.is_multicast or a.is_unspecified or a.is_loopback or a.is_link_local
    return not (odd or str(a) == "255.255.255.255")


def _is_link_local_multicast(_meter: Meter, value: Any) -> bool:
    want(CelAddress, value)
    nets = {4: "224.0.0.0/24", 6: "ff02::/16"}
    return value.address in ipaddress.ip_network(nets[value.address.version])


def _contains_address(_meter: Meter, network: Any, value: Any) -> bool:
    want(CelNetwork, network)
    address = value if isinstance(value, CelAddress) else read_address(value)
    return address.address in network.network


def _contains_network(_meter: Meter, network: Any, value: Any) -> bool:
    want(CelNetwork, network)
    other = value if isinstance(value, CelNetwork) else read_network(value)
    same_family = other.network.version == network.network.version
    return bool(same_family and other.network.subnet_of(network.network))


def _prefix_length(_meter: Meter, network: Any) -> int:
    want(CelNetwork, network)
    return int(network.network.prefixlen)


def _masked(_meter: Meter, network: Any) -> CelNetwork:
    want(CelNetwork, network)
    return CelNetwork(network.network.network_address, network.network)


def _address_of(_meter: Meter, network: Any) -> CelAddress:
    want(CelNetwork, network)
    return CelAddress(network.address)


def is_canonical(_meter: Meter, text: Any) -> bool:
    return bool(str(read_address(text)) == text)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cidr": lambda _meter, text: read_network(text),
    "ip": lambda _meter, text: read_address(text),
    "isCIDR": readable(read_network),
    "isIP": readable(read_address),
}
METHODS: dict[str, Callable[..., Any]] = {
    "containsCIDR": _contains_network,
    "containsIP": _contains_address,
    "family": _family,
    "ip": _address_of,
    "isGlobalUnicast": _is_global_unicast,
    "isLinkLocalMulticast": _is_link_local_multicast,
    "isLinkLocalUnicast": _of_address("is_link_local"),
    "isLoopback": _of_address("is_loopback"),
    "isUnspecified": _of_address("is_unspecified"),
    "masked": _masked,
    "prefixLength": _prefix_length,
}
