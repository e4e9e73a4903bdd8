"""Warnings about a pod or template that is accepted, but that its author hardly meant that way."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice

from plimsoll.api.names import dns_label_errors, label_value_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.networking.addresses import address_warnings
from plimsoll.apiserver.model.kinds.pods.annotations import (
    SECCOMP_CONTAINER,
    SECCOMP_POD,
    Containers,
)
from plimsoll.apiserver.model.kinds.pods.scheduling.affinity import PREFERRED, REQUIRED
from plimsoll.apiserver.model.kinds.pods.security.app_armor import app_armor_warnings
from plimsoll.apiserver.model.kinds.pods.spec import containers_with_paths
from plimsoll.apiserver.model.kinds.pods.volumes.overlaps import overlap_warnings
from plimsoll.apiserver.model.kinds.quantities import has_fraction
from plimsoll.apiserver.model.kinds.selectors import (
    DEPRECATED_NODE_LABELS,
    deprecated_key_warnings,
)
from plimsoll.apiserver.model.kinds.storage.claim_spec import claim_spec_warnings

OLD_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
    "security.alpha.kubernetes.io/unsafe-sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
}
OLD_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
BYTE_RESOURCES = ("memory", "ephemeral-storage")
NO_SELECTOR = "a null labelSelector results in matching no pod"
MOST_WARNINGS = 1000
"""More than an answer has room for. Every two ports of a pod can be worth one."""


def pod_warnings(new: Document, old: Document | None) -> list[str]:
    """People make pods, programs change them: nothing is said about changes."""
    if old is not None:
        return []
    meta, spec = new.get("metadata") or {}, new.get("spec") or {}
    found = islice(_warnings(meta, spec, ""), MOST_WARNINGS)
    return [*_name_warnings(meta.get("name", "")), *found]


def template_warnings(template: Document, path: str) -> list[str]:
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    return list(islice(_warnings(meta, spec, f"{path}."), MOST_WARNINGS))


def _name_warnings(name: str) -> Iterator[str]:
    errors = dns_label_errors(name)
    if errors:
        yield (
            "metadata.name: this is used in the Pod's hostname, which can result in surprising "
            f"behavior; a DNS label is recommended: {errors}"
        )


def _warnings(meta: Document, spec: Document, prefix: str) -> Iterator[str]:
    """`prefix` is where the template stands, with a dot at its end, or empty for a pod."""
    path = f"{prefix}spec"
    containers = containers_with_paths(spec, path)
    yield from _node_warnings(spec, path)
    yield from _spread_warnings(spec, f"{path}.topologySpreadConstraints")
    yield from _annotation_warnings(meta, spec, prefix, containers)
    yield from _volume_warnings(spec.get("volumes") or [], f"{path}.volumes")
    yield from overlap_warnings(spec.get("volumes") or [])
    yield from _repeat_warnings(spec, path)
    yield from _resource_warnings(spec.get("overhead") or {}, f"{path}.overhead")
    for container, where in containers:
        for kind in ("limits", "requests"):
            amounts = (container.get("resources") or {}).get(kind) or {}
            yield from _resource_warnings(amounts, f"{where}.resources.{kind}")
        yield from _variable_warnings(container, where)
    yield from _port_warnings(containers)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        yield (
            f"{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and "
            "will be treated as 1"
        )
    yield from _pod_affinity_warnings(spec.get("affinity") or {}, f"{path}.affinity")
    for index, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or []):
        yield from address_warnings(server, f"{path}.dnsConfig.nameservers[{index}]")
    for index, alias in enumerate(spec.get("hostAliases") or []):
        yield from address_warnings(alias.get("ip", ""), f"{path}.hostAliases[{index}].ip")


def _node_warnings(spec: Document, path: str) -> Iterator[str]:
    for key in spec.get("nodeSelector") or {}:
        if key in DEPRECATED_NODE_LABELS:
            yield f"{path}.nodeSelector[{key}]: {DEPRECATED_NODE_LABELS[key]}"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    where = f"{path}.affinity.nodeAffinity"
    terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    for index, term in enumerate(terms):
        expressions = term.get("matchExpressions") or []
        at = f"{where}.{REQUIRED}.nodeSelectorTerms[{index}].matchExpressions"
        yield from deprecated_key_warnings(expressions, at)
    for index, preferred in enumerate(affinity.get(PREFERRED) or []):
        expressions = (preferred.get("preference") or {}).get("matchExpressions") or []
        at = f"{where}.{PREFERRED}[{index}].preference.matchExpressions"
        yield from deprecated_key_warnings(expressions, at)
        yield from _value_warnings(expressions, at)


def _value_warnings(expressions: Sequence[Document], path: str) -> Iterator[str]:
    for index, expression in enumerate(expressions):
        for position, value in enumerate(expression.get("values") or []):
            for error in label_value_errors(value):
                yield f"{path}[{index}].values[{position}]: {value} is invalid, {error}"


def _spread_warnings(spec: Document, path: str) -> Iterator[str]:
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or []):
        key = constraint.get("topologyKey", "")
        if key in DEPRECATED_NODE_LABELS:
            yield f"{path}[{index}].topologyKey: {key} is {DEPRECATED_NODE_LABELS[key]}"
        if "labelSelector" not in constraint:
            yield f"{path}[{index}].labelSelector: {NO_SELECTOR}"


def _annotation_warnings(
    meta: Document, spec: Document, prefix: str, containers: Containers
) -> Iterator[str]:
    annotations = meta.get("annotations") or {}
    path = f"{prefix}metadata.annotations"
    for key, why in OLD_ANNOTATIONS.items():
        if key in annotations:
            yield f"{path}[{key}]: {why}"
    holders = [(SECCOMP_POD, spec)]
    holders += [(SECCOMP_CONTAINER + c.get("name", ""), c) for c, _ in containers]
    for key, holder in holders:
        if key in annotations and "seccompProfile" not in (holder.get("securityContext") or {}):
            yield f'{path}[{key}]: non-functional in v1.27+; use the "seccompProfile" field instead'
    yield from app_armor_warnings(meta, spec, prefix, is_pod=not prefix)


def _volume_warnings(volumes: list[Document], path: str) -> Iterator[str]:
    for index, volume in enumerate(volumes):
        for name, why in OLD_VOLUMES.items():
            if name in volume:
                yield f"{path}[{index}].{name}: {why}"
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if template is not None:
            where = f"{path}[{index}].ephemeral.volumeClaimTemplate.spec"
            yield from claim_spec_warnings(template.get("spec") or {}, where)


def _repeat_warnings(spec: Document, path: str) -> Iterator[str]:
    for name, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[str] = set()
        for index, item in enumerate(spec.get(name) or []):
            value = item.get(key, "")
            if value in seen:
                yield f'{path}.{name}[{index}].{key}: duplicate {key} "{value}"'
            seen.add(value)
    for index, secret in enumerate(spec.get("imagePullSecrets") or []):
        if not secret.get("name"):
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'


def _resource_warnings(amounts: dict[str, str], path: str) -> Iterator[str]:
    for name in BYTE_RESOURCES:
        if name in amounts and has_fraction(amounts[name]):
            yield (
                f'{path}[{name}]: fractional byte value "{amounts[name]}" is invalid, '
                "must be an integer"
            )


def _variable_warnings(container: Document, path: str) -> Iterator[str]:
    """A variable may be set again only to build on its former value."""
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env") or []):
        name, value = variable.get("name", ""), variable.get("value", "")
        former = f"$({name})"
        builds_on_it = "valueFrom" not in variable and value != former and former in value
        if name in seen and not builds_on_it:
            yield (
                f'{path}.env[{index}]: hides previous definition of "{name}", which may be dropped '
                "when using apply"
            )
        seen.add(name)


def _port_warnings(containers: Containers) -> Iterator[str]:
    ports = [
        (port, f"{path}.ports[{index}]")
        for container, path in containers
        for index, port in enumerate(container.get("ports") or [])
    ]
    known: dict[tuple[int, str], _KnownPorts] = defaultdict(_KnownPorts)
    names: dict[str, str] = {}
    for place, (port, path) in enumerate(ports):
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{path}: hostIP set without hostPort: {port}"
        same = known[port.get("containerPort", 0), port.get("protocol", "")]
        for _, where, other in same.near(port):
            yield f"{path}: {_clash(port, other)} port definition with {where}"
        same.add(port, place, path)
        name = port.get("name")
        if name and name in names:
            yield f'{path}: duplicate port name "{name}" with {names[name]}, the latter is used'
        elif name:
            names[name] = path


class _KnownPorts:
    """Ports of containers by where they are on the node: those that clash are found without a look
    at the others, of which there may be thousands."""

    def __init__(self) -> None:
        self._all: list[_KnownPort] = []
        self._by_number: dict[int, list[_KnownPort]] = defaultdict(list)
        self._by_address: dict[tuple[int, str], list[_KnownPort]] = defaultdict(list)

    def add(self, port: Document, place: int, path: str) -> None:
        address, number = _on_node(port)
        known = (place, path, port)
        self._all.append(known)
        self._by_number[number].append(known)
        self._by_address[number, address].append(known)

    def near(self, port: Document) -> "Iterator[_KnownPort]":
        """Those that clash with this one, in the order in which they came."""
        address, number = _on_node(port)
        if not number:
            return iter(self._all)
        anywhere = self._by_number.get(0, [])
        if not address:
            return merge(anywhere, self._by_number.get(number, []))
        here, on_all = (self._by_address.get((number, text), []) for text in (address, ""))
        return merge(anywhere, here, on_all)


_KnownPort = tuple[int, str, Document]
"""The place among the ports of the pod, the path, the port."""


def _on_node(port: Document) -> tuple[str, int]:
    return port.get("hostIP", ""), port.get("hostPort", 0)


def _clash(port: Document, other: Document) -> str:
    """Of two that are near each other."""
    if _on_node(port) == _on_node(other):
        return "duplicate"
    if not port.get("hostPort") or not other.get("hostPort"):
        return "overlapping"
    return "dangerously ambiguous"


def _pod_affinity_warnings(affinity: Document, path: str) -> Iterator[str]:
    for name in ("podAffinity", "podAntiAffinity"):
        kind = affinity.get(name) or {}
        for index, term in enumerate(kind.get(REQUIRED) or []):
            if "labelSelector" not in term:
                yield f"{path}.{name}.{REQUIRED}[{index}].labelSelector: {NO_SELECTOR}"
        for index, weighted in enumerate(kind.get(PREFERRED) or []):
            if "labelSelector" not in (weighted.get("podAffinityTerm") or {}):
                where = f"{path}.{name}.{PREFERRED}[{index}].podAffinityTerm"
                yield f"{where}.labelSelector: {NO_SELECTOR}"
