"""In which zones a disk should be: what the class allows, what the node needs, spread evenly."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from plimsoll.api.core import Node
from plimsoll.api.storage import StorageClass
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    ProvisionerError,
    ProvisionRequest,
    Trouble,
)

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
ZONE_PARAMETERS = ("zone", "zones")

FNV_OFFSET, FNV_PRIME, WORD = 2166136261, 16777619, 1 << 32


@dataclass(frozen=True, slots=True)
class Allowed:
    """The zones that a class names; None: it names none, so every zone will do."""

    zones: frozenset[str] | None

    @classmethod
    def by(cls, storage_class: StorageClass) -> Self:
        """Raises ValueError in words for the class's author."""
        named = [name for name in ZONE_PARAMETERS if name in storage_class.parameters]
        if len(named) > 1:
            raise ValueError("parameters zone and zones exclude each other")
        if named and storage_class.allowed_topologies:
            raise ValueError(f"parameter {named[0]} and allowedTopologies exclude each other")
        if named:
            return cls(_listed(named[0], storage_class.parameters[named[0]]))
        if storage_class.allowed_topologies:
            return cls(frozenset(_allowed_zones(storage_class)))
        return cls(None)


def _listed(name: str, text: str) -> frozenset[str]:
    zones = [zone.strip() for zone in text.split(",")]
    if not all(zones):
        raise ValueError(f'parameter {name}: "{text}" has an empty zone')
    if name == "zone" and len(zones) > 1:
        raise ValueError(f'parameter zone: "{text}" is more than one zone; call it zones')
    return frozenset(zones)


def _allowed_zones(storage_class: StorageClass) -> Iterator[str]:
    for term in storage_class.allowed_topologies:
        for label in term.match_label_expressions:
            if label.key not in (ZONE, BETA_ZONE):
                raise ValueError(f"allowedTopologies: {label.key} is not a label of zones")
        if len(term.match_label_expressions) == 1:
            yield from term.match_label_expressions[0].values


def zone_of(node: Node) -> str:
    return node.labels.get(ZONE) or node.labels.get(BETA_ZONE, "")


def region_of(zone: str, nodes: Iterable[Node]) -> str:
    """As its nodes say; empty if they do not. A guess could keep every node away from a volume."""
    for node in nodes:
        region = node.labels.get(REGION) or node.labels.get(BETA_REGION)
        if region and zone_of(node) == zone:
            return region
    return ""


def choose_zones(request: ProvisionRequest, allowed: Allowed, count: int) -> tuple[str, ...]:
    """That of the selected node first. Raises ProvisionerError."""
    candidates = allowed.zones
    if candidates is None:
        candidates = frozenset(filter(None, map(zone_of, request.nodes())))
    node = request.selected_node
    if node is None:
        return _spread(request.claim.name, _enough(candidates, count), count)
    zone = zone_of(node)
    if not zone:
        raise ProvisionerError(Trouble.WRONG_NODE, f"node {node.name} is in no zone")
    if allowed.zones is not None and zone not in allowed.zones:
        raise ProvisionerError(
            Trouble.WRONG_NODE,
            f"node {node.name} is in zone {zone}, the class allows {', '.join(sorted(candidates))}",
        )
    others = candidates - {zone}
    _enough(others | {zone}, count)
    return zone, *_spread(request.claim.name, sorted(others), count - 1)


def _enough(zones: Iterable[str], count: int) -> list[str]:
    """By name. Nodes that join later may bring more zones."""
    found = sorted(zones)
    if len(found) < count:
        known = ", ".join(found) or "none"
        raise ProvisionerError(
            Trouble.REFUSED, f"{count} zones are needed, allowed or known: {known}"
        )
    return found


def _spread(claim: str, zones: Sequence[str], count: int) -> tuple[str, ...]:
    """Claims `data-web-0`, `data-web-1`, … go round the zones, and `logs-web-0` with `data-web-0`.

    The numbers are those that Kubernetes' own zonal provisioners computed, so that after a switch
    from them new members of a set are where they would have been.
    """
    base, ordinal = _base_and_ordinal(claim)
    start = _fnv(base) + ordinal * count
    return tuple(zones[(start + step) % WORD % len(zones)] for step in range(count))


def _base_and_ordinal(claim: str) -> tuple[str, int]:
    before, dash, ordinal = claim.rpartition("-")
    if not dash or not (ordinal.isascii() and ordinal.isdecimal()) or int(ordinal) >= WORD:
        return claim, 0
    return before.rpartition("-")[2], int(ordinal)


def _fnv(text: str) -> int:
    """FNV-1 in 32 bits."""
    number = FNV_OFFSET
    for byte in text.encode():
        number = (number * FNV_PRIME) % WORD ^ byte
    return number
