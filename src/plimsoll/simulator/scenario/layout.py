"""The parts of a scenario file; `cluster` in counts, or with every node and pool by name.

People write counts (zones, racks for each zone, nodes for each rack) and pools for each zone, rack
or host. Programs write every node and every pool; both are read.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from plimsoll.api.quantity import parse_bytes
from plimsoll.api.registry import Document
from plimsoll.decide.repair.repairs import RepairRule
from plimsoll.processes.driver.backends.pools.options import MEBIBYTE
from plimsoll.processes.driver.settings import topology_key
from plimsoll.simulator.cluster.shape import (
    IN_PROCESS,
    LEVELS,
    NO_PROVISIONER,
    ClusterShape,
    Copies,
    SimulatedClass,
    SimulatedDriver,
    SimulatedNode,
)
from plimsoll.simulator.scenario.strict import (
    ScenarioError,
    listed,
    parse_seconds,
    read_list,
    read_part,
)

LETTERS = "abcdefghijklmnopqrstuvwxyz"
MOST_NODES = 16_384
"""So many have addresses for their pods."""
PLACES = ("zone", "rack", "host")


class FilePart(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """A mapping in the file."""


class ScenarioPart(FilePart, frozen=True, kw_only=True):
    """The whole file."""

    seed: int = 0
    cluster: Any
    actions: list[Any] = []
    faults: list[Any] = []
    lasting: float = 300.0
    settling: float = 600.0


class NodePart(FilePart, frozen=True, kw_only=True):
    cpu: str = "16"
    memory: str = "64Gi"
    pods: int = 110
    max_volumes: int = 0
    """That can be attached of each driver; 0: no limit."""


class NamedNodePart(NodePart, frozen=True, kw_only=True):
    name: str
    zone: str
    rack: str


class CopiesPart(FilePart, frozen=True, kw_only=True):
    schedulers: int = 2
    controllers: int = 2
    provisioners: int = 2


class PoolPart(FilePart, frozen=True, kw_only=True):
    """One for each place, or one by name."""

    name: str = "pool"
    size: str
    per: Literal["zone", "rack", "host", "region"] | None = None
    topology: dict[str, str] | tuple[dict[str, str], ...] = ()
    kind: str = ""
    latency: str = "0"
    copies: tuple[dict[str, str], ...] = ()
    """Where its data is; none: once, in its topology."""
    min_copies: int = 0


class DriverPart(FilePart, frozen=True, kw_only=True):
    name: str
    pools: list[Any]
    keys: tuple[str, ...] | None = None
    """Which topology keys it tells of nodes; as its pools need them, if absent."""
    strict_topology: bool = True
    tracks_capacity: bool = True
    ids_from_names: bool = False
    only_csi: bool = False
    on_each_node: bool = False


class ClassPart(FilePart, frozen=True, kw_only=True):
    name: str
    driver: str
    parameters: dict[str, str] = {}
    binding_mode: Literal["WaitForFirstConsumer", "Immediate"] = "WaitForFirstConsumer"
    reclaim_policy: Literal["Delete", "Retain"] = "Delete"
    allowed_topologies: dict[str, tuple[str, ...]] = {}


class ClusterPart(FilePart, frozen=True, kw_only=True):
    zones: int | tuple[str, ...] | None = None
    racks_per_zone: int = 1
    nodes_per_rack: int = 1
    node: dict[str, Any] = {}
    nodes: list[Any] | None = None
    drivers: list[Any]
    classes: list[Any]
    copies: dict[str, Any] = {}
    pace: Literal["production", "seldom"] = "production"
    rollback: bool = False
    repair: tuple[str, ...] = ()
    takeover: str = ""
    auto_takeover: bool = False


def read_cluster(given: Any) -> ClusterShape:
    """Raises ScenarioError."""
    part = read_part(ClusterPart, given, "cluster")
    copies = read_part(CopiesPart, part.copies, "cluster.copies")
    _check_counts(copies, "cluster.copies")
    nodes = _nodes(part)
    drivers = tuple(
        _driver(place, each, nodes) for place, each in read_list(part.drivers, "cluster.drivers")
    )
    _check_unique([each.name for each in drivers], "cluster.drivers")
    classes = tuple(
        _class(place, each, drivers) for place, each in read_list(part.classes, "cluster.classes")
    )
    _check_unique([each.name for each in classes], "cluster.classes")
    return ClusterShape(
        nodes=nodes,
        drivers=drivers,
        classes=classes,
        copies=Copies(**msgspec.structs.asdict(copies)),
        pace_name=part.pace,
        rolls_back=part.rollback,
        repairs=_repairs(part),
        takeover=_takeover(part, drivers),
        takes_over_by_itself=part.auto_takeover,
    )


def _takeover(part: ClusterPart, drivers: tuple[SimulatedDriver, ...]) -> str:
    known = [driver.name for driver in drivers if set(driver.keys) & set(LEVELS)]
    if part.takeover and part.takeover not in known:
        raise ScenarioError(
            f'cluster.takeover: no driver "{part.takeover}" whose nodes tell zone or rack; there'
            f" are {listed(known)}"
        )
    if part.auto_takeover and not part.takeover:
        raise ScenarioError("cluster.autoTakeover: name the driver by takeover")
    return part.takeover


def _repairs(part: ClusterPart) -> tuple[str, ...]:
    for name in part.repair:
        if name not in list(RepairRule):
            known = listed([*RepairRule])
            raise ScenarioError(f'cluster.repair: no rule "{name}"; there are {known}')
    return part.repair


def _check_counts(part: FilePart, place: str) -> None:
    for name, value in msgspec.to_builtins(part).items():
        if isinstance(value, int) and value < 1:
            raise ScenarioError(f"{place}.{name}: must be 1 or more, not {value}")


def _check_unique(names: list[str], place: str) -> None:
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ScenarioError(f"{place}: several are called {listed(repeated)}")


# Nodes


def _nodes(part: ClusterPart) -> tuple[SimulatedNode, ...]:
    if (part.zones is None) == (part.nodes is None):
        raise ScenarioError("cluster: needs either zones, a number or names, or nodes, a list")
    if part.nodes is None:
        nodes = tuple(_counted_nodes(part))
    else:
        nodes = tuple(_named_node(*each) for each in read_list(part.nodes, "cluster.nodes"))
        if len({node.name for node in nodes}) < len(nodes):
            _check_unique([node.name for node in nodes], "cluster.nodes")
    if not 1 <= len(nodes) <= MOST_NODES:
        raise ScenarioError(f"cluster: has {len(nodes)} nodes; 1 to {MOST_NODES} can be simulated")
    return nodes


def _counted_nodes(part: ClusterPart) -> Iterator[SimulatedNode]:
    zones = _zone_names(part.zones)
    for name, count in (
        ("racksPerZone", part.racks_per_zone),
        ("nodesPerRack", part.nodes_per_rack),
    ):
        if not 1 <= count <= MOST_NODES:
            raise ScenarioError(f"cluster.{name}: must be 1 to {MOST_NODES}, not {count}")
    total = len(zones) * part.racks_per_zone * part.nodes_per_rack
    if total > MOST_NODES:
        raise ScenarioError(f"cluster: has {total} nodes; 1 to {MOST_NODES} can be simulated")
    each = read_part(NodePart, part.node, "cluster.node")
    _check_node(each, "cluster.node")
    same = msgspec.structs.asdict(each)
    for zone in zones:
        for rack in range(1, part.racks_per_zone + 1):
            for number in range(1, part.nodes_per_rack + 1):
                rack_name = f"{zone}-{rack}"
                yield SimulatedNode(
                    name=f"node-{rack_name}-{number}", zone=zone, rack=rack_name, **same
                )


def _zone_names(zones: int | tuple[str, ...] | None) -> tuple[str, ...]:
    if isinstance(zones, int):
        if not 1 <= zones <= len(LETTERS):
            raise ScenarioError(
                f"cluster.zones: {zones}: write 1 to {len(LETTERS)}, or their names"
            )
        return tuple(LETTERS[:zones])
    names = zones or ()
    if not names:
        raise ScenarioError("cluster.zones: name at least one")
    _check_unique([*names], "cluster.zones")
    return names


def _named_node(place: str, given: Any) -> SimulatedNode:
    part = read_part(NamedNodePart, given, place)
    _check_node(part, place)
    return SimulatedNode(**msgspec.structs.asdict(part))


def _check_node(part: NodePart, place: str) -> None:
    if part.pods < 1:
        raise ScenarioError(f"{place}.pods: must be 1 or more, not {part.pods}")
    if part.max_volumes < 0:
        raise ScenarioError(f"{place}.maxVolumes: must be 0 (no limit) or more")


# Drivers and their pools


def _driver(place: str, given: Any, nodes: tuple[SimulatedNode, ...]) -> SimulatedDriver:
    part = read_part(DriverPart, given, place)
    entries = [
        (where, read_part(PoolPart, each, where))
        for where, each in read_list(part.pools, f"{place}.pools")
    ]
    if not entries:
        raise ScenarioError(f"{place}.pools: name at least one, with its size")
    pools = [pool for where, entry in entries for pool in _pools(where, entry, nodes)]
    if len({pool["name"] for pool in pools}) < len(pools):
        _check_unique([pool["name"] for pool in pools], f"{place}.pools")
    needed = {key for _, entry in entries for key in _keys(entry)}
    keys = tuple(key for key in PLACES if key in needed) if part.keys is None else part.keys
    for key in keys:
        if key not in PLACES:
            raise ScenarioError(f'{place}.keys: "{key}" is not known; known are {listed(PLACES)}')
    return SimulatedDriver(
        name=part.name,
        pools=tuple(pools),
        keys=keys,
        strict_topology=part.strict_topology,
        tracks_capacity=part.tracks_capacity,
        ids_from_names=part.ids_from_names,
        only_csi=part.only_csi,
        on_each_node=part.on_each_node,
    )


def _pools(place: str, part: PoolPart, nodes: tuple[SimulatedNode, ...]) -> Iterator[Document]:
    if part.per and part.topology:
        raise ScenarioError(f"{place}: has per and topology; leave one of them out")
    if parse_bytes(part.size) < MEBIBYTE:
        raise ScenarioError(f"{place}.size: {part.size} holds no volume; write it like 10Gi")
    parse_seconds(part.latency, f"{place}.latency")
    zones = [{"zone": zone} for zone in dict.fromkeys(node.zone for node in nodes)]
    if part.per in (None, "region"):
        yield _pool(part, part.name, zones if part.per else part.topology)
        return
    key = str(part.per)
    for value in dict.fromkeys(node.topology[key] for node in nodes):
        yield _pool(part, f"{part.name}-{value}", {key: value})


def _pool(part: PoolPart, name: str, topology: Any) -> Document:
    """As the driver of production reads it."""
    document: Document = {"name": name, "size": part.size}
    if topology:
        document["topology"] = topology
    if part.kind:
        document["kind"] = part.kind
    if part.latency != "0":
        document["latency"] = part.latency
    if part.copies:
        document["copies"] = [*part.copies]
    if part.min_copies:
        document["minCopies"] = part.min_copies
    return document


def _keys(part: PoolPart) -> set[str]:
    if part.per is not None:
        return {"zone" if part.per == "region" else str(part.per)}
    segments = (part.topology,) if isinstance(part.topology, dict) else part.topology
    return {key for segment in segments for key in segment}


def _class(place: str, given: Any, drivers: tuple[SimulatedDriver, ...]) -> SimulatedClass:
    part = read_part(ClassPart, given, place)
    names = [driver.name for driver in drivers]
    if part.driver not in (*names, NO_PROVISIONER, IN_PROCESS):
        raise ScenarioError(f'{place}.driver: no "{part.driver}"; there are {listed(names)}')
    allowed = part.allowed_topologies.items()
    return SimulatedClass(
        name=part.name,
        driver=part.driver,
        parameters=part.parameters,
        is_immediate=part.binding_mode == "Immediate",
        reclaim=part.reclaim_policy,
        allowed=tuple((topology_key(part.driver, key), values) for key, values in allowed),
    )


# Written


def cluster_document(shape: ClusterShape) -> Document:
    """Every node and pool by name."""
    return {
        "nodes": [_node_document(node) for node in shape.nodes],
        "drivers": [
            {
                "name": driver.name,
                "keys": [*driver.keys],
                "strictTopology": driver.strict_topology,
                "tracksCapacity": driver.tracks_capacity,
                "idsFromNames": driver.ids_from_names,
                "onlyCsi": driver.only_csi,
                "onEachNode": driver.on_each_node,
                "pools": [*driver.pools],
            }
            for driver in shape.drivers
        ],
        "classes": [_class_document(each) for each in shape.classes],
        "copies": {
            "schedulers": shape.copies.schedulers,
            "controllers": shape.copies.controllers,
            "provisioners": shape.copies.provisioners,
        },
        "pace": shape.pace_name,
        "rollback": shape.rolls_back,
        "repair": [*shape.repairs],
        "takeover": shape.takeover,
        "autoTakeover": shape.takes_over_by_itself,
    }


def _node_document(node: SimulatedNode) -> Document:
    values = {
        "cpu": node.cpu,
        "memory": node.memory,
        "pods": node.pods,
        "maxVolumes": node.max_volumes,
    }
    usual = msgspec.to_builtins(NodePart())
    said = {key: value for key, value in values.items() if value != usual[key]}
    return {"name": node.name, "zone": node.zone, "rack": node.rack, **said}


def _class_document(class_: SimulatedClass) -> Document:
    document: Document = {"name": class_.name, "driver": class_.driver}
    if class_.parameters:
        document["parameters"] = class_.parameters
    if class_.is_immediate:
        document["bindingMode"] = "Immediate"
    if class_.reclaim != "Delete":
        document["reclaimPolicy"] = class_.reclaim
    if class_.allowed:
        document["allowedTopologies"] = {key: [*values] for key, values in class_.allowed}
    return document
