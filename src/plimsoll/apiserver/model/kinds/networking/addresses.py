"""Addresses and ranges of addresses, as fields that are older than strict rules take them.

Programs read `010.0.0.1` and `::ffff:1.2.3.4` in different ways, so neither can be written any
more. Objects that have such a value already may keep it.
"""

import re
from collections.abc import Collection, Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from plimsoll.api.names import dns_subdomain_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError

ZEROS = re.compile(r"(?<![\da-fA-F:])0+(?=\d)|(?<=\.)0+(?=\d)|(?<=/)0+(?=\d)")
"""Zeros before a number between dots, or before the length of a prefix."""
BAD_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
BAD_RANGE = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"

Address = IPv4Address | IPv6Address


def find_address(text: str) -> Address | None:
    """The address that is meant, whichever way it is written; None when it is none."""
    if "%" in text:
        return None
    try:
        address = ip_address(_without_zeros(text))
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _without_zeros(text: str) -> str:
    start, colon, last = text.rpartition(":")
    return f"{start}{colon}{ZEROS.sub('', last)}" if "." in last else text


def _is_mapped(text: str) -> bool:
    address = ip_address(_without_zeros(text))
    return isinstance(address, IPv6Address) and address.ipv4_mapped is not None


def address_errors(text: str, path: str, known: Collection[str] = ()) -> Iterator[FieldError]:
    """`known` are the values that the object has already."""
    if text in known:
        return
    if find_address(text) is None:
        yield FieldError.invalid(path, text, BAD_ADDRESS)
        return
    if _without_zeros(text) != text:
        yield FieldError.invalid(path, text, "must not have leading 0s")
    elif _is_mapped(text):
        yield FieldError.invalid(path, text, "must not be an IPv4-mapped IPv6 address")


def reachable_errors(text: str, path: str, known: Collection[str] = ()) -> Iterator[FieldError]:
    """An address that other machines can reach."""
    errors = list(address_errors(text, path, known))
    yield from errors
    address = find_address(text)
    if errors or address is None:
        return
    if address.is_unspecified:
        yield FieldError.invalid(path, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        yield FieldError.invalid(path, text, "may not be in the loopback range")
    if address.is_link_local:
        yield FieldError.invalid(path, text, "may not be in the link-local range")


def range_errors(text: str, path: str, known: Collection[str] = ()) -> Iterator[FieldError]:
    if text in known:
        return
    address, slash, length = text.partition("/")
    plain = f"{_without_zeros(address)}/{ZEROS.sub('', length)}"
    if find_address(address) is None or not slash or not _is_range(plain):
        yield FieldError.invalid(path, text, BAD_RANGE)
    elif plain != text or ZEROS.search(f"/{length}"):
        yield FieldError.invalid(path, text, "must not have leading 0s in IP or prefix length")
    elif _is_mapped(address):
        yield FieldError.invalid(path, text, "must not have an IPv4-mapped IPv6 address")
    elif str(ip_network(text, strict=False).network_address) != str(ip_address(address)):
        yield FieldError.invalid(path, text, "must not have bits set beyond the prefix length")


def load_balancer_errors(new: Document, old: Document) -> Iterator[FieldError]:
    """The status of a Service or an Ingress: where the load balancer is reached."""
    known = frozenset(point.get("ip", "") for point in _ingress_points(old))
    for index, point in enumerate(_ingress_points(new)):
        path = f"status.loadBalancer.ingress[{index}]"
        if point.get("ip"):
            yield from address_errors(point["ip"], f"{path}.ip", known)
        name = point.get("hostname")
        if name:
            for detail in dns_subdomain_errors(name):
                yield FieldError.invalid(f"{path}.hostname", name, detail)
            if find_address(name) is not None:
                yield FieldError.invalid(
                    f"{path}.hostname", name, "must be a DNS name, not an IP address"
                )


def _ingress_points(document: Document) -> list[Document]:
    balancer = (document.get("status") or {}).get("loadBalancer") or {}
    points: list[Document] = balancer.get("ingress") or []
    return points


def _is_range(text: str) -> bool:
    length = text.partition("/")[2]
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return length.isascii() and length.isdigit()


def address_warnings(text: str, path: str) -> list[str]:
    """One address can be written in several ways; clients should use the standard one."""
    address = find_address(text)
    if address is None:
        return []
    if _without_zeros(text) != text or _is_mapped(text):
        return [f'{path}: non-standard IP address "{text}" is invalid: use "{address}"']
    if address.version == 4 or str(address) == text:  # noqa: PLR2004 IPv4
        return []
    return [f'{path}: IPv6 address "{text}" should be in RFC 5952 canonical format ("{address}")']


def range_warnings(text: str, path: str) -> list[str]:
    """For ranges that are valid."""
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return []
    if not isinstance(network, IPv6Network) or str(network) == text:
        return []
    shown = f'IPv6 CIDR value "{text}" should be in RFC 5952 canonical format ("{network}")'
    return [f"{path}: {shown}"]
