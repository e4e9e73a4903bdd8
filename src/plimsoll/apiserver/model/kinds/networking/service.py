"""Services, as far as an API server without a network decides about them.

`service_allocation` gives them addresses and node ports; everything else is filled in and checked
here. Nothing answers at these addresses.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from plimsoll.api.names import dns_label_errors, dns_subdomain_errors, name_is_dns_label
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.networking.addresses import (
    address_warnings,
    load_balancer_errors,
    range_errors,
    range_warnings,
    reachable_errors,
)
from plimsoll.apiserver.model.kinds.networking.service_families import (
    SETTLED,
    change_errors,
    related_errors,
)
from plimsoll.apiserver.model.kinds.networking.service_ports import CHECK, is_checked
from plimsoll.apiserver.model.kinds.object_meta import label_errors
from plimsoll.apiserver.model.kinds.pods.values import qualified_name
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_status

TYPES = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
EXTERNAL_TYPES = ("NodePort", "LoadBalancer")
PROTOCOLS = ("SCTP", "TCP", "UDP")
AFFINITIES = ("ClientIP", "None")
TRAFFIC_POLICIES = ("Cluster", "Local")
DISTRIBUTIONS = ("PreferClose", "PreferSameNode", "PreferSameZone")
OLD_DISTRIBUTION = "PreferClose"
AFFINITY_SECONDS = 3 * 60 * 60
LAST_PORT = 65535
PORT_NAME_LIMIT = 15
CLASS = "loadBalancerClass"
OLD_EXTERNAL = "spec.externalIPs is deprecated and may no longer be implemented in some clusters"


def default(service: Document) -> None:
    spec = service.setdefault("spec", {})
    _fill(spec, "type", "ClusterIP")
    _fill(spec, "sessionAffinity", "None")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        seconds = spec.get("sessionAffinityConfig", {}).get("clientIP", {}).get("timeoutSeconds")
        if seconds is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}
    for port in spec.get("ports") or ():
        _fill(port, "protocol", "TCP")
        _fill(port, "targetPort", port.get("port", 0))
    _default_by_type(spec)


def _default_by_type(spec: Document) -> None:
    kind = spec["type"]
    if kind in EXTERNAL_TYPES or (kind == "ClusterIP" and spec.get("externalIPs")):
        _fill(spec, "externalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if kind in TYPES and kind != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")


def _fill(fields: Document, name: str, value: Any) -> None:
    if not fields.get(name):
        fields[name] = value


def prepare_create(service: Document, _now: datetime) -> None:
    service["status"] = {"loadBalancer": {}}


def prepare_update(new: Document, old: Document, now: datetime) -> None:
    keep_status(new, old, now)
    if new["spec"]["type"] != "LoadBalancer":
        new["status"] = (new.get("status") or {}) | {"loadBalancer": {}}


def validate(service: Document) -> Iterator[FieldError]:
    return _errors(service, {})


def _errors(service: Document, old: Document) -> Iterator[FieldError]:
    spec = service["spec"]
    kind, ports = spec["type"], spec.get("ports", [])
    headless = spec.get("clusterIPs", [])[:1] == ["None"]
    if not ports and not headless and kind != "ExternalName":
        yield FieldError.required("spec.ports")
    if kind not in TYPES:
        yield FieldError.not_supported("spec.type", kind, TYPES)
    if headless and kind in EXTERNAL_TYPES:
        yield FieldError.invalid(
            "spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services"
        )
    if kind == "ExternalName":
        yield from _external_name_errors(spec)
    yield from _ports_errors(ports, kind)
    yield from label_errors(spec.get("selector", {}), "spec.selector")
    yield from _choice_errors(spec)
    yield from _balancer_errors(spec)
    yield from _address_errors(spec, old)


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    yield from _errors(new, old["spec"])
    yield from change_errors(new["spec"], old["spec"])
    both = new["spec"]["type"] == old["spec"]["type"] == "LoadBalancer"
    kept = new["spec"].get(CLASS) == old["spec"].get(CLASS)
    if both and not kept:
        yield FieldError.invalid(f"spec.{CLASS}", new["spec"].get(CLASS), SETTLED)


def _external_name_errors(spec: Document) -> Iterator[FieldError]:
    for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(field):
            yield FieldError.forbidden(f"spec.{field}", "may not be set for ExternalName services")
    name = spec.get("externalName", "").removesuffix(".")
    if not name:
        yield FieldError.required("spec.externalName")
        return
    for error in dns_subdomain_errors(name):
        yield FieldError.invalid("spec.externalName", name, error)


def _ports_errors(ports: Sequence[Document], kind: str) -> Iterator[FieldError]:
    names: set[str] = set()
    numbers: set[tuple[str, int]] = set()
    node_ports: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        name, protocol = port.get("name", ""), port["protocol"]
        yield from _port_errors(port, path, name_required=len(ports) > 1)
        if name in names:
            yield FieldError.duplicate(f"{path}.name", name)
        if (protocol, port.get("port", 0)) in numbers:
            yield FieldError.duplicate(path, port)
        node_port = port.get("nodePort", 0)
        if node_port and kind == "ClusterIP":
            yield FieldError.forbidden(
                f"{path}.nodePort", "may not be used when `type` is 'ClusterIP'"
            )
        if node_port and (protocol, node_port) in node_ports:
            yield FieldError.duplicate(f"{path}.nodePort", node_port)
        names |= {name} - {""}
        numbers.add((protocol, port.get("port", 0)))
        node_ports.add((protocol, node_port))


def _port_errors(port: Document, path: str, *, name_required: bool) -> Iterator[FieldError]:
    name = port.get("name", "")
    if name_required and not name:
        yield FieldError.required(f"{path}.name")
    elif name:
        for error in dns_label_errors(name):
            yield FieldError.invalid(f"{path}.name", name, error)
    yield from _port_number_errors(port.get("port", 0), f"{path}.port")
    if port["protocol"] not in PROTOCOLS:
        yield FieldError.not_supported(f"{path}.protocol", port["protocol"], PROTOCOLS)
    yield from application_errors(port, path)
    target = port["targetPort"]
    if isinstance(target, int):
        yield from _port_number_errors(target, f"{path}.targetPort")
    elif len(target) > PORT_NAME_LIMIT or dns_label_errors(target) or target.isdecimal():
        yield FieldError.invalid(f"{path}.targetPort", target, "must be a port's number or name")


def application_errors(port: Document, path: str) -> Iterator[FieldError]:
    if "appProtocol" in port:
        yield from qualified_name(port["appProtocol"], f"{path}.appProtocol")


def _port_number_errors(number: int, path: str) -> Iterator[FieldError]:
    if not 1 <= number <= LAST_PORT:
        yield FieldError.invalid(path, number, f"must be between 1 and {LAST_PORT}, inclusive")


def _choice_errors(spec: Document) -> Iterator[FieldError]:
    if spec["sessionAffinity"] not in AFFINITIES:
        yield FieldError.not_supported("spec.sessionAffinity", spec["sessionAffinity"], AFFINITIES)
    seconds = spec.get("sessionAffinityConfig", {}).get("clientIP", {}).get("timeoutSeconds", 1)
    if not 0 < seconds <= 8 * AFFINITY_SECONDS:
        yield FieldError.invalid(
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
            seconds,
            f"must be greater than 0 and less than {8 * AFFINITY_SECONDS}",
        )
    for field in ("internalTrafficPolicy", "externalTrafficPolicy"):
        policy = spec.get(field, "Cluster")
        if policy not in TRAFFIC_POLICIES:
            yield FieldError.not_supported(f"spec.{field}", policy, TRAFFIC_POLICIES)
    distribution = spec.get("trafficDistribution", OLD_DISTRIBUTION)
    if distribution not in DISTRIBUTIONS:
        yield FieldError.not_supported("spec.trafficDistribution", distribution, DISTRIBUTIONS)
    exposed = spec["type"] in EXTERNAL_TYPES or spec.get("externalIPs")
    if spec.get("externalTrafficPolicy") and not exposed:
        yield FieldError.invalid(
            "spec.externalTrafficPolicy",
            spec["externalTrafficPolicy"],
            "may only be set for externally-accessible services",
        )


def _balancer_errors(spec: Document) -> Iterator[FieldError]:
    if spec.get(CLASS) is not None:
        if spec["type"] == "LoadBalancer":
            yield from qualified_name(spec[CLASS], f"spec.{CLASS}")
        else:
            said = "may only be used when `type` is 'LoadBalancer'"
            yield FieldError.forbidden(f"spec.{CLASS}", said)
    if spec.get(CHECK) and not is_checked(spec):
        said = (
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        )
        yield FieldError.invalid(f"spec.{CHECK}", spec[CHECK], said)


def _address_errors(spec: Document, old: Document) -> Iterator[FieldError]:
    """`old` is the specification that the service has so far; empty for a new one."""
    if spec["type"] == "ExternalName":
        return
    yield from related_errors(spec, old)
    known = frozenset(old.get("externalIPs", ()))
    for index, address in enumerate(spec.get("externalIPs", ())):
        yield from reachable_errors(address, f"spec.externalIPs[{index}]", known)
    known = frozenset(text.strip() for text in old.get("loadBalancerSourceRanges", ()))
    for index, text in enumerate(spec.get("loadBalancerSourceRanges", ())):
        yield from range_errors(text.strip(), f"spec.LoadBalancerSourceRanges[{index}]", known)


def warnings(new: Document, old: Document | None) -> list[str]:
    spec = new["spec"]
    if old is not None and old["spec"] == spec:
        return []
    external = spec.get("externalIPs") or ()
    found = []
    for index, address in enumerate(external):
        found += address_warnings(address, f"spec.externalIPs[{index}]")
    if external and spec["type"] != "ExternalName" and spec.get("clusterIP") != "None":
        found.append(OLD_EXTERNAL)
    if spec.get("externalName") and spec["type"] != "ExternalName":
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == OLD_DISTRIBUTION:
        found.append(
            f'spec.trafficDistribution: "{OLD_DISTRIBUTION}" is deprecated; use "PreferSameZone"'
        )
    if spec.get("loadBalancerIP"):
        found += address_warnings(spec["loadBalancerIP"], "spec.loadBalancerIP")
    for index, text in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        found += range_warnings(text, f"spec.loadBalancerSourceRanges[{index}]")
    return found


def selectable_fields(service: Document) -> dict[str, str]:
    spec = service.get("spec", {})
    return {"spec.clusterIP": spec.get("clusterIP", ""), "spec.type": spec.get("type", "")}


RULES = KindRules(
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    validate_status=load_balancer_errors,
    warnings=warnings,
    name_errors=name_is_dns_label,
    selectable_fields=selectable_fields,
    create_on_update=True,
    returns_deleted=True,
)
