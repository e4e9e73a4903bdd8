"""What must have come about once nothing has gone wrong for a while."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.quantity import parse_bytes
from plimsoll.api.registry import Document
from plimsoll.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
)
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import Rejected
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.processes.driver.records import RecordPhase
from plimsoll.simulator.cluster.driver_host import CsiLink
from plimsoll.simulator.cluster.mirror import CAPACITIES, CLAIMS, PODS, VOLUMES
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.engine.chance import seconds
from plimsoll.simulator.invariants import Invariant, claims_of
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.kind import typed

SCHEDULED_KINDS: tuple[type[ApiObject], ...] = (
    Node,
    StorageClass,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeAttachment,
    Pod,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    invariant: Invariant
    message: str
    is_known: bool = False


async def unsettled(cluster: SimulatedCluster) -> list[Unsettled]:
    """Everything that is not yet as it has to be."""
    found = [*_volumes(cluster)]
    found += await _pods(cluster)
    found += await _capacity(cluster)
    return found


async def kernel_of(cluster: SimulatedCluster) -> Kernel:
    """A scheduler's kernel that has seen exactly what the server has."""
    columns = Columns()
    for kind in SCHEDULED_KINDS:
        for each in (await cluster.client.list(typed(kind))).items:
            if not (isinstance(each, Pod) and each.is_finished):
                columns.put(each)
    return Kernel(columns)


async def _pods(cluster: SimulatedCluster) -> list[Unsettled]:
    found: list[Unsettled] = []
    kernel: Kernel | None = None
    for key, document in sorted(cluster.mirror.objects[PODS].items()):
        phase = (document.get("status") or {}).get("phase")
        node = document["spec"].get("nodeName", "")
        if "deletionTimestamp" in document["metadata"]:
            found.append(_stuck(f"pod {key} on {node or 'no node'} is being deleted and stays"))
        elif phase == "Pending" and node:
            found.append(_stuck(f"pod {key} on {node} does not run"))
        elif phase == "Pending":
            kernel = kernel or await kernel_of(cluster)
            judged = kernel.judge(from_document(Pod, document))
            missing = await _missing_volumes(cluster, document)
            if missing is None:
                continue
            if isinstance(judged, Rejected):
                if any(_fits(missing, node.name) for node in cluster.shape.nodes):
                    found.append(_stuck(f"pod {key} has no node, and its volumes could be made"))
                continue
            names = enumerate(kernel.columns.index.names)
            feasible = [name for slot, name in names if name and not judged.flags[slot]]
            if served := [name for name in feasible if _fits(missing, name)]:
                found.append(_stuck(f"pod {key} has no node, and {served[0]} would do"))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingVolumes:
    """What a pod needs of one driver, and the most that one pool has for each node."""

    wanted_bytes: int
    free_bytes: Mapping[str, int]


async def _missing_volumes(cluster: SimulatedCluster, pod: Document) -> list[MissingVolumes] | None:
    """By driver; None: a claim is missing, or its class is."""
    classes = {class_.name: class_.driver for class_ in cluster.shape.classes}
    wanted: dict[str, int] = {}
    for name in claims_of(pod):
        claim = cluster.mirror.objects[CLAIMS].get(f"{pod['metadata']['namespace']}/{name}")
        if claim is None or claim["spec"].get("storageClassName", "") not in classes:
            return None
        if not claim["spec"].get("volumeName"):
            driver = classes[claim["spec"]["storageClassName"]]
            size = parse_bytes(claim["spec"]["resources"]["requests"]["storage"])
            wanted[driver] = wanted.get(driver, 0) + size
    return [
        MissingVolumes(wanted_bytes=size, free_bytes=await cluster.drivers[driver].free_bytes())
        for driver, size in wanted.items()
    ]


def _fits(missing: list[MissingVolumes], node: str) -> bool:
    """Whether pools that the node reaches could hold all of it."""
    return all(each.free_bytes.get(node, 0) >= each.wanted_bytes for each in missing)


def _stuck(message: str) -> Unsettled:
    return Unsettled(invariant=Invariant.EVERYTHING_RUNS, message=message)


def _volumes(cluster: SimulatedCluster) -> Iterator[Unsettled]:
    mirror = cluster.mirror
    recorded: dict[str, str] = {}
    for name, volume in mirror.objects[VOLUMES].items():
        recorded[(volume["spec"].get("csi") or {}).get("volumeHandle", "")] = name
    uids = {claim["metadata"]["uid"] for claim in mirror.objects[CLAIMS].values()}
    existing: set[str] = set()
    for host in cluster.drivers.values():
        if host.driver is None:
            continue
        for record in host.driver.ledger.volumes.all():
            existing.add(record.id)
            if record.id not in recorded:
                is_orphan = record.name.removeprefix("pvc-") not in uids
                yield Unsettled(
                    invariant=Invariant.NO_LEAKS,
                    message=f"{host.name} has {record.name} ({record.phase}), in no object",
                    # Intents will tell the next provisioner; until then it cannot know.
                    is_known=is_orphan and record.phase is RecordPhase.READY,
                )
    for handle, name in sorted(recorded.items()):
        if handle not in existing:
            yield Unsettled(
                invariant=Invariant.NO_LOSSES, message=f"{name} is recorded, {handle} is not there"
            )


async def _capacity(cluster: SimulatedCluster) -> list[Unsettled]:
    found: list[Unsettled] = []
    published = cluster.mirror.objects[CAPACITIES]
    classes = {class_.name: class_ for class_ in cluster.shape.classes}
    wanted = 0
    for key, document in sorted(published.items()):
        class_ = classes.get(document["storageClassName"])
        if class_ is None:
            continue
        wanted += 1
        link = CsiLink(cluster.drivers[class_.driver], cluster.shape.nodes[0].name, cluster.user)
        labels = (document.get("nodeTopology") or {}).get("matchLabels") or {}
        request = csi.GetCapacityRequest(
            parameters=class_.parameters, accessible_topology=csi.Topology(segments=labels)
        )
        answer = await CsiClient(link, within=seconds(10)).call(methods.GET_CAPACITY, request)
        told = parse_bytes(str(document.get("capacity", "0")))
        if told != answer.available_capacity:
            found.append(
                Unsettled(
                    invariant=Invariant.CAPACITY_IS_TRUE,
                    message=f"{key} says {told}, the driver {answer.available_capacity}",
                )
            )
    return found
