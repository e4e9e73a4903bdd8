"""Nodes, namespaces and the plain objects that live in them."""

from datetime import datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.printing.ages import since
from plimsoll.apiserver.model.printing.phrases import NONE, condition_status

_UNKNOWN = "<unknown>"
_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def node_cells(node: Document, now: datetime) -> list[Any]:
    meta, status = node["metadata"], node.get("status", {})
    info = status.get("nodeInfo", {})
    architecture = info.get("architecture")
    kernel = info.get("kernelVersion") or _UNKNOWN
    return [
        meta.get("name", ""),
        _node_status(node),
        _roles(meta.get("labels", {})),
        since(meta.get("creationTimestamp"), now),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or _UNKNOWN,
        f"{kernel} ({architecture})" if architecture else kernel,
        info.get("containerRuntimeVersion") or _UNKNOWN,
    ]


def namespace_cells(namespace: Document, now: datetime) -> list[Any]:
    meta = namespace["metadata"]
    phase = namespace.get("status", {}).get("phase", "")
    return [meta.get("name", ""), phase, since(meta.get("creationTimestamp"), now)]


def config_map_cells(config_map: Document, now: datetime) -> list[Any]:
    meta = config_map["metadata"]
    entries = len(config_map.get("data", ())) + len(config_map.get("binaryData", ()))
    return [meta.get("name", ""), entries, since(meta.get("creationTimestamp"), now)]


def secret_cells(secret: Document, now: datetime) -> list[Any]:
    meta = secret["metadata"]
    return [
        meta.get("name", ""),
        secret.get("type", ""),
        len(secret.get("data", ())),
        since(meta.get("creationTimestamp"), now),
    ]


def lease_cells(lease: Document, now: datetime) -> list[Any]:
    meta = lease["metadata"]
    return [
        meta.get("name", ""),
        lease.get("spec", {}).get("holderIdentity", ""),
        since(meta.get("creationTimestamp"), now),
    ]


def quota_cells(quota: Document, now: datetime) -> list[Any]:
    meta, status = quota["metadata"], quota.get("status", {})
    used = status.get("used", {})
    requests: list[str] = []
    limits: list[str] = []
    for name, hard in sorted(status.get("hard", {}).items()):
        column = limits if name.startswith("limits.") else requests
        column.append(f"{name}: {used.get(name, '0')}/{hard}")
    return [
        meta.get("name", ""),
        ", ".join(requests),
        ", ".join(limits),
        since(meta.get("creationTimestamp"), now),
    ]


def priority_class_cells(priority_class: Document, now: datetime) -> list[Any]:
    meta = priority_class["metadata"]
    return [
        meta.get("name", ""),
        priority_class.get("value", 0),
        priority_class.get("globalDefault", False),
        since(meta.get("creationTimestamp"), now),
        priority_class.get("preemptionPolicy", ""),
    ]


def runtime_class_cells(runtime_class: Document, now: datetime) -> list[Any]:
    meta = runtime_class["metadata"]
    return [
        meta.get("name", ""),
        runtime_class.get("handler", ""),
        since(meta.get("creationTimestamp"), now),
    ]


def custom_resource_definition_cells(definition: Document, _now: datetime) -> list[Any]:
    meta, spec = definition["metadata"], definition.get("spec", {})
    names = spec.get("names", {})
    conditions = definition.get("status", {}).get("conditions", ())
    return [
        meta.get("name", ""),
        spec.get("scope", ""),
        ",".join(v.get("name", "") for v in spec.get("versions", ()) if v.get("served")),
        meta.get("creationTimestamp", ""),
        spec.get("group", ""),
        names.get("kind", ""),
        ",".join(names.get("shortNames", ())),
        condition_status(conditions, "Established") == "True",
    ]


def _node_status(node: Document) -> str:
    ready = None
    for condition in node.get("status", {}).get("conditions", ()):
        if condition.get("type") == "Ready":
            ready = condition.get("status")
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if node.get("spec", {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(labels: dict[str, str]) -> str:
    prefixed = {k.removeprefix(_ROLE_PREFIX) for k in labels if k.startswith(_ROLE_PREFIX)}
    roles = prefixed | {labels.get(_ROLE_LABEL, "")}
    return ",".join(sorted(role for role in roles if role)) or NONE


def _address(status: Document, wanted: str) -> str:
    addresses = status.get("addresses", ())
    return next((a.get("address", "") for a in addresses if a.get("type") == wanted), NONE)
