"""Published capacity laid out by place: regions, their zones, racks, hosts.

Drivers choose their own keys, such as `topology.example.com/zone`; the part after the slash tells
the level. Where an object names a host alone, the region and zone that its nodes have are put
above it, if they agree.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plimsoll.api.selectors.label import LabelSelector
from plimsoll.decide.capacity.names import TEMPLATE_NODE
from plimsoll.decide.capacity.overview import CapacityEntry, Overview

LEVELS = {
    "region": 0,
    "zone": 1,
    "datacenter": 2,
    "room": 3,
    "row": 4,
    "rack": 5,
    "chassis": 6,
    "host": 9,
    "hostname": 9,
    "node": 9,
}
OTHER_LEVEL = 8
WELL_KNOWN = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")
IMAGINED = "nodes that the cluster autoscaler imagines"

Place = tuple[int, str, str]
"""Level, key, value."""


@dataclass(frozen=True, slots=True)
class CapacityBranch:
    name: str
    """`zone a`; empty at the root."""
    entries: tuple[CapacityEntry, ...]
    branches: tuple["CapacityBranch", ...]


def tree_of(overview: Overview) -> CapacityBranch:
    return _branch("", [(path_of(entry, overview), entry) for entry in overview.entries])


def _branch(name: str, below: Sequence[tuple[Sequence[str], CapacityEntry]]) -> CapacityBranch:
    own = tuple(entry for path, entry in below if not path)
    groups: dict[str, list[tuple[Sequence[str], CapacityEntry]]] = {}
    for path, entry in below:
        if path:
            groups.setdefault(path[0], []).append((path[1:], entry))
    branches = tuple(_branch(each, groups[each]) for each in sorted(groups))
    return CapacityBranch(name, own, branches)


def path_of(entry: CapacityEntry, overview: Overview) -> list[str]:
    """From the largest place to the smallest; nothing: everywhere."""
    if entry.segment is None:
        return [selector_text(entry)]
    labels = dict(entry.segment)
    head = [IMAGINED] if labels.pop(TEMPLATE_NODE, None) else []
    places = [(_level(key), key, value) for key, value in labels.items()]
    places += _above(entry, places, overview)
    return head + [f"{_short(key)} {value}" for _, key, value in sorted(places)]


def selector_text(entry: CapacityEntry) -> str:
    try:
        return str(LabelSelector.of(entry.capacity.node_topology)) or "nowhere"
    except ValueError:
        return "unreadable topology"


def _above(entry: CapacityEntry, places: Iterable[Place], overview: Overview) -> list[Place]:
    """Well-known places of its nodes that are larger than any it names itself."""
    smallest = min((level for level, _, _ in places), default=0)
    found = []
    for key in WELL_KNOWN:
        value = overview.reach.common_label(entry.nodes, key) if entry.nodes else None
        if value is not None and _level(key) < smallest:
            found.append((_level(key), key, value))
    return found


def _level(key: str) -> int:
    return LEVELS.get(_short(key).lower(), OTHER_LEVEL)


def _short(key: str) -> str:
    return key.rpartition("/")[2]
