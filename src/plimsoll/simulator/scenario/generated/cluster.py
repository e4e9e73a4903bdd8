"""Clusters from seeds: small ones, in which not every node is as good as another."""

from dataclasses import replace
from random import Random

from plimsoll.api.registry import Document
from plimsoll.simulator.cluster.shape import (
    NO_PROVISIONER,
    SELDOM,
    ClusterShape,
    Copies,
    SimulatedClass,
    SimulatedDriver,
    SimulatedNode,
)

ZONAL, LOCAL = "zonal.sim", "local.sim"
TINY = "64Mi"
"""Of a pool that holds none of the volumes that are asked for."""
CLASSES = (
    SimulatedClass(name="zonal", driver=ZONAL),
    SimulatedClass(name="local", driver=LOCAL),
    SimulatedClass(name="now", driver=ZONAL, is_immediate=True),
    SimulatedClass(name="disk", driver=NO_PROVISIONER),
)


def happens(chance: Random, share: float) -> bool:
    """In that share of all scenarios."""
    return chance.random() < share


def generated_cluster(chance: Random) -> ClusterShape:
    nodes = _nodes(chance)
    return ClusterShape(
        nodes=nodes,
        drivers=(_zonal(chance, nodes), _local(chance, nodes)),
        classes=CLASSES,
        copies=Copies(
            schedulers=chance.choice((1, 2, 2, 2, 3)),
            controllers=chance.choice((1, 2, 2, 2, 3)),
            provisioners=chance.choice((1, 2, 2, 2)),
        ),
        pace_name=SELDOM,
    )


def _nodes(chance: Random) -> tuple[SimulatedNode, ...]:
    """In some clusters one of the zones has larger machines, which attract pods."""
    zones = "abc"[: chance.choice((2, 3, 3))]
    limit = chance.choice((0, 0, 2, 3, 6))
    large = chance.choice(zones) if happens(chance, 0.4) else ""
    nodes: list[SimulatedNode] = []
    for zone in zones:
        for rack in range(chance.choice((1, 1, 2))):
            nodes.extend(
                SimulatedNode(
                    name=f"node-{zone}{rack}{number}",
                    zone=zone,
                    rack=f"{zone}{rack}",
                    cpu="64" if zone == large else "16",
                    max_volumes=limit,
                )
                for number in range(chance.choice((1, 1, 2, 3)))
            )
    return tuple(nodes)


def _zonal(chance: Random, nodes: tuple[SimulatedNode, ...]) -> SimulatedDriver:
    """One pool for each zone, in some clusters for each rack."""
    size = chance.choice(("4Gi", "8Gi", "20Gi"))
    keys = ("zone", "rack") if happens(chance, 0.25) else ("zone",)
    pools: dict[str, Document] = {}
    for node in nodes:
        place = {key: node.topology[key] for key in keys}
        name = f"pool-{place[keys[-1]]}"
        pools[name] = {"name": name, "size": size, "topology": place}
    return SimulatedDriver(
        name=ZONAL,
        keys=keys,
        pools=_with_a_tiny_one(chance, nodes, pools),
        strict_topology=happens(chance, 0.7),
        tracks_capacity=happens(chance, 0.6),
        ids_from_names=happens(chance, 0.5),
    )


def _local(chance: Random, nodes: tuple[SimulatedNode, ...]) -> SimulatedDriver:
    pools: dict[str, Document] = {}
    for node in nodes:
        name = f"disk-{node.name}"
        pools[name] = {"name": name, "size": "3Gi", "topology": {"host": node.name}}
    return SimulatedDriver(
        name=LOCAL,
        keys=("host",),
        pools=_with_a_tiny_one(chance, nodes, pools),
        tracks_capacity=happens(chance, 0.7),
        ids_from_names=happens(chance, 0.5),
    )


def _with_a_tiny_one(
    chance: Random, nodes: tuple[SimulatedNode, ...], pools: dict[str, Document]
) -> tuple[Document, ...]:
    """In some clusters one pool refuses every volume, for ever; where machines differ, it is at
    one of the large ones, so that pods are drawn to it."""
    if happens(chance, 0.35):
        node = max(nodes, key=lambda each: (int(each.cpu), chance.random()))
        name = chance.choice([name for name, pool in pools.items() if _serves(pool, node)])
        pools[name] = {**pools[name], "size": TINY}
    return tuple(pools.values())


def _serves(pool: Document, node: SimulatedNode) -> bool:
    topology: dict[str, str] = pool["topology"]
    return topology.items() <= node.topology.items()


def with_disks_of_nodes(chance: Random, shape: ClusterShape) -> ClusterShape:
    """In some clusters the driver of local disks has a provisioner on each node, and in some of
    these also classes that bind at once are its."""
    if not happens(chance, 0.125):
        return shape
    drivers = (replace(each, on_each_node=each.name == LOCAL) for each in shape.drivers)
    classes = shape.classes
    if happens(chance, 0.3):
        classes = tuple(
            replace(each, driver=LOCAL) if each.is_immediate else each for each in classes
        )
    return replace(shape, drivers=tuple(drivers), classes=classes)


def with_other_drivers(chance: Random, shape: ClusterShape) -> ClusterShape:
    """In some clusters a driver knows only what CSI has."""
    drivers = tuple(replace(each, only_csi=happens(chance, 0.25)) for each in shape.drivers)
    return replace(shape, drivers=drivers)
