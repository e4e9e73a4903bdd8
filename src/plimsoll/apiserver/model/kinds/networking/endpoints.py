"""Where a service can be reached: Endpoints, and EndpointSlices that took their place."""

from collections.abc import Iterator, Sequence

from plimsoll.api.names import dns_label_errors, dns_subdomain_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.networking.addresses import find_address, reachable_errors
from plimsoll.apiserver.model.kinds.networking.service import (
    LAST_PORT,
    PROTOCOLS,
    application_errors,
)
from plimsoll.apiserver.model.kinds.object_meta import IMMUTABLE
from plimsoll.apiserver.model.kinds.rules import KindRules

ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
ADDRESSES_LIMIT = 100
ENDPOINTS_LIMIT = 1000


def default_endpoints(endpoints: Document) -> None:
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            if not port.get("protocol"):
                port["protocol"] = "TCP"


def validate_endpoints(endpoints: Document) -> Iterator[FieldError]:
    for index, subset in enumerate(endpoints.get("subsets", ())):
        yield from _subset_errors(subset, f"subsets[{index}]")


def validate_endpoints_update(new: Document, old: Document) -> Iterator[FieldError]:
    """Rules grew stricter over time; what is stored already may stay."""
    if new.get("subsets") != old.get("subsets"):
        yield from validate_endpoints(new)


def _subset_errors(subset: Document, path: str) -> Iterator[FieldError]:
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        yield FieldError.required(path, "must specify `addresses` or `notReadyAddresses`")
    for field in ("addresses", "notReadyAddresses"):
        for index, address in enumerate(subset.get(field, ())):
            yield from _endpoint_errors(address, f"{path}.{field}[{index}]")
    ports = subset.get("ports", ())
    for index, port in enumerate(ports):
        where = f"{path}.ports[{index}]"
        if len(ports) > 1 and not port.get("name"):
            yield FieldError.required(f"{where}.name")
        yield from _port_errors(port, where)
        if not 1 <= port.get("port", 0) <= LAST_PORT:
            yield FieldError.invalid(
                f"{where}.port",
                port.get("port", 0),
                f"must be between 1 and {LAST_PORT}, inclusive",
            )


def _endpoint_errors(endpoint: Document, path: str) -> Iterator[FieldError]:
    yield from reachable_errors(endpoint.get("ip", ""), f"{path}.ip")
    hostname = endpoint.get("hostname", "")
    if hostname:
        for error in dns_label_errors(hostname):
            yield FieldError.invalid(f"{path}.hostname", hostname, error)
    if "nodeName" in endpoint:
        for error in dns_subdomain_errors(endpoint["nodeName"]):
            yield FieldError.invalid(f"{path}.nodeName", endpoint["nodeName"], error)


def _port_errors(port: Document, path: str) -> Iterator[FieldError]:
    name = port.get("name", "")
    if name:
        for error in dns_label_errors(name):
            yield FieldError.invalid(f"{path}.name", name, error)
    if port.get("protocol") not in PROTOCOLS:
        yield FieldError.not_supported(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
    yield from application_errors(port, path)


# Slices


def default_slice(endpoint_slice: Document) -> None:
    for port in endpoint_slice.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def validate_slice(endpoint_slice: Document) -> Iterator[FieldError]:
    yield from _slice_frame_errors(endpoint_slice)
    yield from _slice_endpoints_errors(endpoint_slice)


def validate_slice_update(new: Document, old: Document) -> Iterator[FieldError]:
    yield from _slice_frame_errors(new)
    if new.get("endpoints") != old.get("endpoints"):
        yield from _slice_endpoints_errors(new)
    if new.get("addressType") != old.get("addressType"):
        yield FieldError.invalid("addressType", new.get("addressType"), IMMUTABLE)


def _slice_frame_errors(endpoint_slice: Document) -> Iterator[FieldError]:
    kind = endpoint_slice.get("addressType", "")
    if not kind:
        yield FieldError.required("addressType")
    elif kind not in ADDRESS_TYPES:
        yield FieldError.not_supported("addressType", kind, ADDRESS_TYPES)
    names: set[str] = set()
    for index, port in enumerate(endpoint_slice.get("ports") or ()):
        yield from _port_errors(port, f"ports[{index}]")
        if port["name"] in names:
            yield FieldError.duplicate(f"ports[{index}].name", port["name"])
        names.add(port["name"])


def _slice_endpoints_errors(endpoint_slice: Document) -> Iterator[FieldError]:
    endpoints = endpoint_slice.get("endpoints") or ()
    if len(endpoints) > ENDPOINTS_LIMIT:
        yield FieldError.too_many("endpoints", len(endpoints), ENDPOINTS_LIMIT)
        return
    kind = endpoint_slice.get("addressType", "")
    for index, endpoint in enumerate(endpoints):
        path = f"endpoints[{index}].addresses"
        yield from _addresses_errors(endpoint.get("addresses") or (), kind, path)


def _addresses_errors(addresses: Sequence[str], kind: str, path: str) -> Iterator[FieldError]:
    if not addresses:
        yield FieldError.required(path, "must contain at least 1 address")
    if len(addresses) > ADDRESSES_LIMIT:
        yield FieldError.too_many(path, len(addresses), ADDRESSES_LIMIT)
    for index, address in enumerate(addresses):
        if kind == "FQDN":
            for error in dns_subdomain_errors(address):
                yield FieldError.invalid(f"{path}[{index}]", address, error)
        elif kind in ("IPv4", "IPv6"):
            meant = find_address(address)
            if meant is not None and f"IPv{meant.version}" != kind:
                yield FieldError.invalid(path, address, f"must be an {kind} address")
            yield from reachable_errors(address, f"{path}[{index}]")


ENDPOINTS = KindRules(
    default=default_endpoints,
    validate=validate_endpoints,
    validate_update=validate_endpoints_update,
    create_on_update=True,
)
ENDPOINT_SLICE = KindRules(
    default=default_slice,
    validate=validate_slice,
    validate_update=validate_slice_update,
    has_generation=True,
)
