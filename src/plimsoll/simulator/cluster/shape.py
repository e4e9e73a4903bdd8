"""What a simulated cluster consists of: nodes in racks and zones, drivers with pools, classes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.annotations import ROLLBACK, UNUSED_VOLUMES
from plimsoll.processes.driver.settings import topology_key

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
NAMESPACE = "plimsoll-system"
SCHEDULER = "default-scheduler"
TAKEOVER_MAP, MAP_ENTRY = ObjectKey(NAMESPACE, "takeover"), "config.json"
LEVELS = ("zone", "rack")
"""Of domains, from wide to narrow."""
SECOND_SCHEDULER = "scheduler-second"
"""The process that a fault starts beside the schedulers that elect a leader."""
NO_PROVISIONER = "kubernetes.io/no-provisioner"
IN_PROCESS = "in-process.sim"
"""The provisioner that runs inside the controllers."""
"""Instead of a driver: of classes whose volumes are all made by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedNode:
    name: str
    zone: str
    rack: str
    """Nodes of one rack share a process: they live, and are lost, together."""
    cpu: str = "16"
    memory: str = "64Gi"
    pods: int = 110
    max_volumes: int = 0
    """For each driver; 0: no limit."""

    @property
    def topology(self) -> dict[str, str]:
        """What drivers tell of it."""
        return {"zone": self.zone, "rack": self.rack, "host": self.name}


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """How many of each process there are; of several, one leads."""

    schedulers: int = 2
    controllers: int = 2
    provisioners: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedDriver:
    name: str
    pools: tuple[Document, ...]
    keys: tuple[str, ...]
    """Which topology keys it tells of nodes: `zone`, `rack`, `host`."""
    strict_topology: bool = True
    tracks_capacity: bool = True
    ids_from_names: bool = False
    """Whether a volume that is made again under the same name has the same id."""
    only_csi: bool = False
    """Whether it knows neither epochs of leaders nor any call that CSI does not have."""
    on_each_node: bool = False
    """Whether each node has a provisioner of its own (`--node-deployment`), and a driver that knows
    only the volumes which this one has asked for."""

    def provisioners(self, nodes: Iterable[SimulatedNode], copies: Copies) -> dict[str, str]:
        """The processes of its provisioners, by name, with the node that each serves; empty: all
        nodes."""
        if self.on_each_node:
            return {f"provisioner-{self.name}-{node.name}": node.name for node in nodes}
        return {f"provisioner-{self.name}-{number}": "" for number in range(copies.provisioners)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedClass:
    name: str
    driver: str
    """Or NO_PROVISIONER, or IN_PROCESS."""
    parameters: dict[str, str] = field(default_factory=dict)
    is_immediate: bool = False
    reclaim: str = "Delete"
    allowed: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Topology keys, with the driver's prefix, and the values that are allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPace:
    """How often happens what happens in an idle cluster too, in seconds."""

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    provisioner_retry_period: float = 5.0
    node_lease: float = 10.0
    node_grace: float = 50.0
    """After this time of silence a node is taken for lost."""
    node_monitor: float = 5.0
    """How often the controller looks for silent nodes."""
    capacity_poll: float = 60.0
    """How often provisioners ask for capacity that no object tells to have changed."""
    csi_probe: float = 10.0
    """How often controllers ask drivers whether they are there."""
    bookmark: float = 60.0
    """Between two bookmarks of a watch in which nothing happens."""


PACES = {
    "production": ClusterPace(),
    "seldom": ClusterPace(
        lease_duration=40.0,
        renew_deadline=28.0,
        retry_period=12.0,
        provisioner_retry_period=12.0,
        node_lease=60.0,
        node_grace=150.0,
        node_monitor=15.0,
        capacity_poll=180.0,
        csi_probe=60.0,
        bookmark=300.0,
    ),
}
"""By name. `seldom` is for scenarios that are about workloads and faults: at the pace of production
a cluster does little else than to renew leases. The proportions are the same: a leader misses
several renewals before it has to stop, and stops before another copy leads."""
PRODUCTION, SELDOM = PACES


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterShape:
    nodes: tuple[SimulatedNode, ...]
    drivers: tuple[SimulatedDriver, ...]
    classes: tuple[SimulatedClass, ...]
    copies: Copies = field(default_factory=Copies)
    pace_name: str = PRODUCTION
    rolls_back: bool = False
    """Whether controllers take unused volumes back, and all classes allow it."""
    repairs: tuple[str, ...] = ()
    """Repair rules that are switched on."""
    takeover: str = ""
    """The driver whose lost zones are taken over as a map says; empty: none."""
    takes_over_by_itself: bool = False
    """Whether controllers write lost zones into the map themselves."""

    @property
    def takeover_labels(self) -> tuple[str, ...]:
        """By which nodes tell their domains for it."""
        keys = next((each.keys for each in self.drivers if each.name == self.takeover), ())
        return tuple(topology_key(self.takeover, key) for key in keys if key in LEVELS)

    @property
    def pace(self) -> ClusterPace:
        return PACES[self.pace_name]

    @property
    def racks(self) -> dict[str, tuple[SimulatedNode, ...]]:
        found: dict[str, tuple[SimulatedNode, ...]] = {}
        for node in self.nodes:
            found[node.rack] = (*found.get(node.rack, ()), node)
        return found

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(node.zone for node in self.nodes))


CONSENT: Document = {"annotations": {ROLLBACK: UNUSED_VOLUMES}}


def first_objects(shape: ClusterShape) -> Iterator[Document]:
    """What an administrator creates, in this order."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    for driver in shape.drivers:
        yield {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": driver.name},
            "spec": {"attachRequired": True, "storageCapacity": driver.tracks_capacity},
        }
    for class_ in shape.classes:
        document: Document = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": class_.name} | (CONSENT if shape.rolls_back else {}),
            "provisioner": class_.driver,
            "parameters": class_.parameters,
            "reclaimPolicy": class_.reclaim,
            "volumeBindingMode": "Immediate" if class_.is_immediate else "WaitForFirstConsumer",
            "allowVolumeExpansion": True,
        }
        if class_.allowed:
            expressions = [{"key": key, "values": [*values]} for key, values in class_.allowed]
            document["allowedTopologies"] = [{"matchLabelExpressions": expressions}]
        yield document
