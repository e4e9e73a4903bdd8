"""What a simulated cluster consists of: nodes in racks and zones, drivers with pools, classes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from plimsoll.api.registry import Document

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
NAMESPACE = "plimsoll-system"
SCHEDULER = "default-scheduler"
LEASE_RENEW_SECONDS = 20.0
"""As seldom as nodes of production do when many share a process: an idle cluster does little else
than to send heartbeats."""


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
class SimulatedDriver:
    name: str
    pools: tuple[Document, ...]
    keys: tuple[str, ...]
    """Which topology keys it tells of nodes: `zone`, `rack`, `host`."""
    strict_topology: bool = True
    tracks_capacity: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedClass:
    name: str
    driver: str
    parameters: dict[str, str] = field(default_factory=dict)
    is_immediate: bool = False
    reclaim: str = "Delete"
    allowed: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Topology keys, with the driver's prefix, and the values that are allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """How many of each process there are; of several, one leads."""

    schedulers: int = 2
    controllers: int = 2
    provisioners: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterShape:
    nodes: tuple[SimulatedNode, ...]
    drivers: tuple[SimulatedDriver, ...]
    classes: tuple[SimulatedClass, ...]
    copies: Copies = field(default_factory=Copies)
    lease_renew_seconds: float = LEASE_RENEW_SECONDS

    @property
    def racks(self) -> dict[str, tuple[SimulatedNode, ...]]:
        found: dict[str, tuple[SimulatedNode, ...]] = {}
        for node in self.nodes:
            found[node.rack] = (*found.get(node.rack, ()), node)
        return found

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(node.zone for node in self.nodes))


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
            "metadata": {"name": class_.name},
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
