"""Addresses and node ports are given to services here, and kept through updates.

Pure: the service and what others have taken in, the service with all that it needs out. A service
that goes, or that needs something no longer, has released it thereby.
"""

from collections.abc import Iterable

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.networking.addresses import find_address
from plimsoll.apiserver.model.kinds.networking.service_families import (
    FIELDS,
    PREFER,
    mirror_addresses,
    needs_address,
    related_errors,
    settle_families,
    settle_policy,
)
from plimsoll.apiserver.model.kinds.networking.service_network import (
    FULL,
    ServiceNetwork,
    UsedByServices,
    place_of,
)
from plimsoll.apiserver.model.kinds.networking.service_ports import (
    CHECK,
    ON_NODES,
    PortAllocation,
    is_checked,
    keep_ports,
    node_ports,
)
from plimsoll.apiserver.model.status import invalid


def allocate(
    service: Document, old: Document | None, network: ServiceNetwork, taken: UsedByServices
) -> None:
    """Fill in what the service needs; `old` is what it was. Raises ApiError."""
    spec, before = service["spec"], None if old is None else old["spec"]
    if before is not None:
        _keep(spec, before)
    mirror_addresses(spec, before)
    if spec["type"] == "ExternalName":
        spec.pop("internalTrafficPolicy", None)
    if spec["type"] != "ExternalName" and not _stays_preferred(spec, before):
        settle_policy(spec, before)
        _refuse(service, [*related_errors(spec, before or {})])
        _refuse(service, settle_families(spec, before, network.family))
    if needs_address(spec):
        _refuse(service, _allocate_address(service, before or {}, network, taken))
    ports = PortAllocation(service=service, before=before or {}, network=network, taken=taken)
    _refuse(service, ports.allocate())
    if before is not None:
        _release(spec, before)


def _refuse(service: Document, errors: Iterable[FieldError]) -> None:
    listed = list(errors)
    if listed:
        raise invalid("", "Service", service["metadata"].get("name", ""), listed)


def _stays_preferred(spec: Document, before: Document | None) -> bool:
    """Services of two families that were stored by a cluster with both are left as they are."""
    if before is None or spec["type"] != before["type"]:
        return False
    policies = spec.get("ipFamilyPolicy"), before.get("ipFamilyPolicy", PREFER)
    same = all(spec.get(field) == before.get(field) for field in ("clusterIPs", "ipFamilies"))
    return policies == (PREFER, PREFER) and same


# What a client leaves out stays as it is


def _keep(spec: Document, before: Document) -> None:
    if "ExternalName" not in (spec["type"], before["type"]):
        for field in FIELDS[:2]:
            if not spec.get(field) and before.get(field):
                spec[field] = before[field]
    keep_ports(spec, before)


# What it needs anew


def _allocate_address(
    service: Document, before: Document, network: ServiceNetwork, taken: UsedByServices
) -> list[FieldError]:
    spec = service["spec"]
    asked = spec.get("clusterIP", "")
    if not asked:
        found = network.find_address(place_of(service), taken.addresses)
        if found is None:
            return [FieldError.invalid("spec.clusterIPs", [], f"failed to allocate IP: {FULL}")]
        spec["clusterIP"], spec["clusterIPs"] = found, [found]
        return []
    if before.get("clusterIP"):
        return []  # it has one, and keeps that or is refused
    why = _address_refusal(asked, network, taken)
    if not why:
        return []
    said = f"failed to allocate IP {asked}: {why}"
    return [FieldError.invalid("spec.clusterIPs", spec["clusterIPs"], said)]


def _address_refusal(asked: str, network: ServiceNetwork, taken: UsedByServices) -> str:
    address = find_address(asked)
    if address is None or address not in network.addresses:
        return (
            f"the provided IP ({asked}) is not in the valid range. The range of valid IPs is "
            f"{network.addresses}"
        )
    return "provided IP is already allocated" if asked in taken.addresses else ""


# What it needs no longer, and a client did not touch


def _release(spec: Document, before: Document) -> None:
    if spec["type"] == "ExternalName" and before["type"] != "ExternalName":
        for fields in (FIELDS[:2], FIELDS[2:3], FIELDS[3:]):
            _drop_unchanged(spec, before, *fields)
    left_nodes = before["type"] in ON_NODES and spec["type"] not in ON_NODES
    if left_nodes and set(node_ports(spec)) == set(node_ports(before)):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if is_checked(before) and not is_checked(spec):
        _drop_unchanged(spec, before, CHECK)
    if before["type"] == "LoadBalancer" and spec["type"] != "LoadBalancer":
        _drop_unchanged(spec, before, "allocateLoadBalancerNodePorts")
        _drop_unchanged(spec, before, "loadBalancerClass")
    if _is_reached_from_outside(before) and not _is_reached_from_outside(spec):
        _drop_unchanged(spec, before, "externalTrafficPolicy")


def _is_reached_from_outside(spec: Document) -> bool:
    return spec["type"] in ON_NODES or bool(spec.get("externalIPs"))


def _drop_unchanged(spec: Document, before: Document, *fields: str) -> None:
    if all(spec.get(field) == before.get(field) for field in fields):
        for field in fields:
            spec.pop(field, None)
