"""How fast nodes are given up: by zone, and slower the more of a zone is not ready.

When half a zone is not ready at once, the cause is more likely the network or the controller than
the nodes, and to end all their pods would make it worse.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from plimsoll.api.core import Node

ZONE_LABELS = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
REGION_LABELS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
EXCLUDED = "node.kubernetes.io/exclude-disruption"
"""On a node: it does not count when the state of its zone is judged."""
FEWEST_UNREADY = 2
"""So many nodes that are not ready are no disruption of a zone, however small it is."""


class ZoneState(StrEnum):
    NORMAL = "Normal"
    """Most nodes of the zone are ready."""
    PARTIAL_DISRUPTION = "PartialDisruption"
    """A large part of the zone is not ready."""
    FULL_DISRUPTION = "FullDisruption"
    """No node of the zone is ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionRates:
    """Nodes per second and zone."""

    normal: float = 0.1
    disrupted: float = 0.01
    large_zone: int = 50
    """In a disrupted zone of at most so many nodes, none is given up."""
    unhealthy_threshold: float = 0.55
    """From this fraction of nodes that are not ready, a zone counts as disrupted."""


def zone_of(node: Node) -> str:
    """Empty for nodes without zone."""
    region, zone = _label(node, REGION_LABELS), _label(node, ZONE_LABELS)
    return f"{region}:{zone}" if region or zone else ""


def _label(node: Node, names: tuple[str, ...]) -> str:
    labels = node.labels
    for name in names:  # a plain loop: asked of every node, again and again
        if name in labels:
            return labels[name]
    return ""


def zone_state(ready: Collection[bool], rates: EvictionRates) -> ZoneState:
    """`ready` tells for each of its nodes whether it is ready."""
    unready = len(ready) - sum(ready)
    if unready == len(ready) > 0:
        return ZoneState.FULL_DISRUPTION
    if unready > FEWEST_UNREADY and unready / len(ready) >= rates.unhealthy_threshold:
        return ZoneState.PARTIAL_DISRUPTION
    return ZoneState.NORMAL


def eviction_rate(state: ZoneState, size: int, rates: EvictionRates) -> float:
    """A zone that is gone altogether is given up at full speed: others can take its pods."""
    if state is not ZoneState.PARTIAL_DISRUPTION:
        return rates.normal
    return rates.disrupted if size > rates.large_zone else 0.0
