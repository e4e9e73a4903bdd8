"""Services, endpoints, ingresses and network policies."""

from datetime import datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.printing.ages import since
from plimsoll.apiserver.model.printing.phrases import (
    NONE,
    UNSET,
    labels_phrase,
    selector_phrase,
    shortened,
)


def service_cells(service: Document, now: datetime) -> list[Any]:
    meta, spec = service["metadata"], service.get("spec", {})
    addresses = spec.get("clusterIPs") or [NONE]
    return [
        meta.get("name", ""),
        spec.get("type", ""),
        addresses[0],
        _external_address(service),
        ",".join(_port(port) for port in spec.get("ports", ())) or NONE,
        since(meta.get("creationTimestamp"), now),
        labels_phrase(spec.get("selector")),
    ]


def endpoints_cells(endpoints: Document, now: datetime) -> list[Any]:
    meta = endpoints["metadata"]
    subsets = endpoints.get("subsets", ())
    addresses = [address for subset in subsets for address in _subset_addresses(subset)]
    return [
        meta.get("name", ""),
        shortened(addresses) if subsets else NONE,
        since(meta.get("creationTimestamp"), now),
    ]


def endpoint_slice_cells(endpoint_slice: Document, now: datetime) -> list[Any]:
    meta = endpoint_slice["metadata"]
    ports = [str(p.get("port") or p.get("name") or "*") for p in endpoint_slice.get("ports") or ()]
    addresses = [
        address
        for endpoint in endpoint_slice.get("endpoints") or ()
        for address in endpoint.get("addresses", ())
    ]
    return [
        meta.get("name", ""),
        endpoint_slice.get("addressType", ""),
        shortened(ports) or UNSET,
        shortened(addresses) or UNSET,
        since(meta.get("creationTimestamp"), now),
    ]


def ingress_cells(ingress: Document, now: datetime) -> list[Any]:
    meta, spec = ingress["metadata"], ingress.get("spec", {})
    hosts = [rule["host"] for rule in spec.get("rules", ()) if rule.get("host")]
    return [
        meta.get("name", ""),
        spec.get("ingressClassName", NONE),
        shortened(hosts) or "*",
        _balancer_addresses(ingress),
        "80, 443" if spec.get("tls") else "80",
        since(meta.get("creationTimestamp"), now),
    ]


def ingress_class_cells(ingress_class: Document, now: datetime) -> list[Any]:
    meta, spec = ingress_class["metadata"], ingress_class.get("spec", {})
    default = meta.get("annotations", {}).get("ingressclass.kubernetes.io/is-default-class")
    return [
        f"{meta.get('name', '')} (default)" if default == "true" else meta.get("name", ""),
        spec.get("controller", ""),
        _parameters(spec.get("parameters")),
        since(meta.get("creationTimestamp"), now),
    ]


def network_policy_cells(policy: Document, now: datetime) -> list[Any]:
    meta, spec = policy["metadata"], policy.get("spec", {})
    return [
        meta.get("name", ""),
        selector_phrase(spec.get("podSelector")) or NONE,
        since(meta.get("creationTimestamp"), now),
    ]


def _external_address(service: Document) -> str:
    spec = service.get("spec", {})
    own = ",".join(spec.get("externalIPs", ()))
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return own or NONE
        case "LoadBalancer":
            both = [part for part in (_balancer_addresses(service), own) if part]
            return ",".join(both) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return "<unknown>"


def _balancer_addresses(document: Document) -> str:
    ingresses = document.get("status", {}).get("loadBalancer", {}).get("ingress", ())
    addresses = {i.get("ip") or i.get("hostname", "") for i in ingresses}
    return ",".join(sorted(address for address in addresses if address))


def _port(port: Document) -> str:
    number, protocol = port.get("port", 0), port.get("protocol", "")
    node_port = port.get("nodePort", 0)
    return f"{number}:{node_port}/{protocol}" if node_port else f"{number}/{protocol}"


def _subset_addresses(subset: Document) -> list[str]:
    addresses = [address.get("ip", "") for address in subset.get("addresses", ())]
    ports = subset.get("ports", ())
    if not ports:
        return addresses
    return [_host_port(a, port.get("port", 0)) for port in ports for a in addresses]


def _host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _parameters(parameters: Document | None) -> str:
    if not parameters:
        return NONE
    group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
    return f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"


def service_range_cells(service_range: Document, now: datetime) -> list[Any]:
    meta, spec = service_range["metadata"], service_range.get("spec", {})
    return [
        meta.get("name", ""),
        ",".join(spec.get("cidrs") or ()),
        since(meta.get("creationTimestamp"), now),
    ]


def address_cells(address: Document, _now: datetime) -> list[Any]:
    """Without the age, which the real server sends as well, but names no column for."""
    parent = address.get("spec", {}).get("parentRef")
    return [address["metadata"].get("name", ""), NONE if parent is None else _parent(parent)]


def _parent(reference: Document) -> str:
    parts = (reference.get("resource", ""), reference.get("group", ""))
    resource = ".".join(filter(None, parts)).lower()
    return "/".join(
        filter(None, (resource, reference.get("namespace", ""), reference.get("name", "")))
    )
