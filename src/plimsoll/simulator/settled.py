"""What must have come about once nothing has gone wrong for a while."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from plimsoll.api.core import Lease, Node
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
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.provisioning.intents import INTENT, Intent, IntentState, read_intent
from plimsoll.decide.records import RECORD
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.judge import Rejected
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.processes.scheduler.main import SchedulerProcess
from plimsoll.processes.scheduler.running import Scheduler
from plimsoll.simulator.cluster.driver_host import CsiLink
from plimsoll.simulator.cluster.in_process import PLACE
from plimsoll.simulator.cluster.mirror import (
    ATTACHMENTS,
    CAPACITIES,
    CLAIMS,
    NODES,
    PODS,
    VOLUMES,
)
from plimsoll.simulator.cluster.shape import IN_PROCESS, NO_PROVISIONER
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.engine.chance import seconds
from plimsoll.simulator.invariants import Invariant, claims_of
from plimsoll.simulator.settled_copies import (
    can_be_copied,
    is_copy,
    requested_bytes,
    unsettled_copies,
)
from plimsoll.simulator.settled_groups import unsettled_groups
from plimsoll.simulator.settled_rollbacks import unsettled_rollbacks
from plimsoll.simulator.settled_takeovers import is_fenced_out, unsettled_takeovers
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.kind import documents, typed
from plimsoll.wire.parameters import Selection

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

LEASES = documents(typed(Lease).resource)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    invariant: Invariant
    message: str
    is_known: bool = False


Refusals = Mapping[tuple[str, str], int]
"""How often a node was taken off a waiting claim since faults ended, by uid and node."""
FOR_EVER = 5
"""A node that has refused so often will do so again."""


async def unsettled(cluster: SimulatedCluster, refusals: Refusals) -> list[Unsettled]:
    """Everything that is not yet as it has to be."""
    suspected = await _suspected(cluster)
    found = [*_volumes(cluster, suspected), *_disks(cluster), *_reclaimed(cluster)]
    found += [*_caches(cluster), *_reservations(cluster)]
    found += await _pods(cluster, refusals)
    found += await _claims(cluster)
    found += await _intents(cluster, suspected)
    found += await _capacity(cluster)
    for left in await unsettled_groups(cluster):
        found.append(Unsettled(invariant=Invariant.NO_HOLDS_LEFT, message=left))
    for left in await unsettled_rollbacks(cluster):
        found.append(Unsettled(invariant=Invariant.ROLLBACKS_END, message=left))
    for left in await unsettled_takeovers(cluster):
        found.append(Unsettled(invariant=Invariant.TAKEOVERS_END, message=left))
    for copy in await unsettled_copies(cluster):
        found.append(
            Unsettled(invariant=copy.invariant, message=copy.message, is_known=copy.is_known)
        )
    return found


async def kernel_of(cluster: SimulatedCluster) -> Kernel:
    """A scheduler's kernel that has seen exactly what the server has.

    But for nodes that were selected for volumes which are not there yet: where such a node will
    not do, it is taken off the claim again.
    """
    columns = Columns()
    for kind in SCHEDULED_KINDS:
        for each in (await cluster.client.list(typed(kind))).items:
            if not (isinstance(each, Pod) and each.is_finished):
                columns.put(_undecided(each))
    return Kernel(columns)


def _undecided(object_: ApiObject) -> ApiObject:
    if not isinstance(object_, PersistentVolumeClaim) or object_.spec.volume_name:
        return object_
    kept = {name: value for name, value in object_.annotations.items() if name != SELECTED_NODE}
    return replace(object_, metadata=replace(object_.metadata, annotations=kept))


async def _pods(cluster: SimulatedCluster, refusals: Refusals) -> list[Unsettled]:
    found: list[Unsettled] = []
    kernel: Kernel | None = None
    for key, document in sorted(cluster.mirror.objects[PODS].items()):
        phase = (document.get("status") or {}).get("phase")
        node = document["spec"].get("nodeName", "")
        if "deletionTimestamp" in document["metadata"]:
            found.append(_stuck(f"pod {key} on {node or 'no node'} is being deleted and stays"))
        elif phase == "Pending" and node:
            if not _is_crowded_out(cluster, node) and not is_fenced_out(cluster, document, node):
                is_known = _waits_for_nothing(cluster, document)
                found.append(_stuck(f"pod {key} on {node} does not run", is_known=is_known))
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
                found.append(_waiting(cluster, document, served[0], refusals))
    return found


def _waits_for_nothing(cluster: SimulatedCluster, pod: Document) -> bool:
    """Whether a claim was deleted and made anew while its pod was put on a node.

    No scheduler looks at a pod that has a node, so none selects a node for the new claim. That is
    so in Kubernetes as well; the repair rule `direct-node` helps, and has to be asked for.
    """
    classes = {class_.name: class_ for class_ in cluster.shape.classes}
    for name in claims_of(pod):
        claim = cluster.mirror.objects[CLAIMS].get(f"{pod['metadata']['namespace']}/{name}")
        if claim is None or claim["spec"].get("volumeName"):
            continue
        class_ = classes.get(claim["spec"].get("storageClassName", ""))
        is_selected = SELECTED_NODE in (claim["metadata"].get("annotations") or {})
        if class_ is not None and not class_.is_immediate and not is_selected:
            return True
    return False


def _is_crowded_out(cluster: SimulatedCluster, node: str) -> bool:
    """Whether two schedulers together have put more volumes on a node than can be attached there:
    neither knew of what the other was about to do, and some pod has to wait."""
    if not cluster.second_scheduler.lives:
        return False
    limit = next(each.max_volumes for each in cluster.shape.nodes if each.name == node)
    attached: dict[str, set[str]] = {}
    for pod in cluster.mirror.objects[PODS].values():
        if pod["spec"].get("nodeName", "") != node:
            continue
        for name in claims_of(pod):
            claim = cluster.mirror.objects[CLAIMS].get(f"{pod['metadata']['namespace']}/{name}")
            volume = cluster.mirror.objects[VOLUMES].get(_volume_name(claim))
            if volume is not None and "csi" in volume["spec"]:
                attached.setdefault(volume["spec"]["csi"]["driver"], set()).add(
                    volume["metadata"]["name"]
                )
    return any(0 < limit < len(volumes) for volumes in attached.values())


def _volume_name(claim: Document | None) -> str:
    return "" if claim is None else claim["spec"].get("volumeName", "")


def _waiting(
    cluster: SimulatedCluster, pod: Document, served: str, refusals: Refusals
) -> Unsettled:
    """A pod that `served` could run."""
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    told = f"pod {namespace}/{name} has no node, and {served} would do"
    for claim_name in claims_of(pod):
        claim = cluster.mirror.objects[CLAIMS].get(f"{namespace}/{claim_name}")
        uid = "" if claim is None else claim["metadata"]["uid"]
        for (refused, node), times in sorted(refusals.items()):
            if refused == uid and node != served and times >= FOR_EVER:
                message = f"{told}; {node} has refused claim {claim_name} {times} times"
                return Unsettled(invariant=Invariant.NOT_REFUSED_FOR_EVER, message=message)
    return _stuck(told)


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingVolumes:
    """What a pod needs of one driver, and the most that one pool has for each node."""

    wanted_bytes: int
    free_bytes: Mapping[str, int]


async def _missing_volumes(cluster: SimulatedCluster, pod: Document) -> list[MissingVolumes] | None:
    """By driver; None: a claim is missing or has lost its volume, or its class is missing."""
    classes = {class_.name: class_.driver for class_ in cluster.shape.classes}
    wanted: dict[str, int] = {}
    for name in claims_of(pod):
        claim = cluster.mirror.objects[CLAIMS].get(f"{pod['metadata']['namespace']}/{name}")
        if claim is None or claim["spec"].get("storageClassName", "") not in classes:
            return None
        if (claim.get("status") or {}).get("phase") == "Lost" or _lacks_source(cluster, claim):
            return None
        driver = classes[claim["spec"]["storageClassName"]]
        if not claim["spec"].get("volumeName") and driver != NO_PROVISIONER:
            wanted[driver] = wanted.get(driver, 0) + requested_bytes(claim)
    return [
        MissingVolumes(wanted_bytes=size, free_bytes=await _free_bytes(cluster, driver))
        for driver, size in wanted.items()
    ]


async def _free_bytes(cluster: SimulatedCluster, driver: str) -> Mapping[str, int]:
    """By node."""
    if driver != IN_PROCESS:
        return await cluster.drivers[driver].free_bytes()
    return {node.name: cluster.cloud.free_bytes(node.zone) or 0 for node in cluster.shape.nodes}


def _lacks_source(cluster: SimulatedCluster, claim: Document) -> bool:
    """It is to be filled with what is not there."""
    is_waiting = is_copy(claim) and not claim["spec"].get("volumeName")
    return is_waiting and not can_be_copied(cluster, claim)


def _fits(missing: list[MissingVolumes], node: str) -> bool:
    """Whether pools that the node reaches could hold all of it."""
    return all(each.free_bytes.get(node, 0) >= each.wanted_bytes for each in missing)


def _stuck(message: str, *, is_known: bool = False) -> Unsettled:
    return Unsettled(invariant=Invariant.EVERYTHING_RUNS, message=message, is_known=is_known)


async def _suspected(cluster: SimulatedCluster) -> set[str]:
    """Ids of volumes that an administrator is told of, because nothing proves that no pod has used
    them: another program may have led, and their driver cannot tell."""
    foreign = {driver.name for driver in cluster.shape.drivers if driver.only_csi}
    return {
        intent.volume_id
        for intent in await _stored_intents(cluster)
        if intent.state is IntentState.SUSPECT and intent.driver in foreign
    }


async def _stored_intents(cluster: SimulatedCluster) -> list[Intent]:
    leases = await cluster.client.list(LEASES, Selection(labels=f"{RECORD}={INTENT}"))
    return [intent for lease in leases.items if (intent := read_intent(lease)) is not None]


def _volumes(cluster: SimulatedCluster, suspected: set[str]) -> Iterator[Unsettled]:
    mirror = cluster.mirror
    recorded: dict[str, str] = {}
    for name, volume in mirror.objects[VOLUMES].items():
        if source := volume["spec"].get("csi"):
            recorded[source["volumeHandle"]] = name
    existing: set[str] = set()
    for host in cluster.drivers.values():
        if host.driver is None:
            continue
        for record in host.driver.ledger.volumes.all():
            existing.add(record.id)
            if record.id not in recorded and record.id not in suspected:
                message = f"{host.name} has {record.name} ({record.phase}), in no object"
                is_known = record.name in host.unfenced or host.is_of_stock(record.name)
                yield Unsettled(invariant=Invariant.NO_LEAKS, message=message, is_known=is_known)
    for handle, name in sorted(recorded.items()):
        if handle not in existing:
            yield Unsettled(
                invariant=Invariant.NO_LOSSES, message=f"{name} is recorded, {handle} is not there"
            )


def _disks(cluster: SimulatedCluster) -> Iterator[Unsettled]:
    """Of the provisioner inside the controllers: it leaks nothing, whichever process is killed."""
    paths = {
        volume["spec"]["hostPath"]["path"].removeprefix(PLACE)
        for volume in cluster.mirror.objects[VOLUMES].values()
        if "hostPath" in volume["spec"]
    }
    existing = {disk.name for disk in cluster.cloud.disks}
    for name in sorted(existing - paths):
        yield Unsettled(invariant=Invariant.NO_LEAKS, message=f"disk {name} is in no object")
    for name in sorted(paths - existing):
        yield Unsettled(invariant=Invariant.NO_LOSSES, message=f"disk {name} is not there")


async def _intents(cluster: SimulatedCluster, suspected: set[str]) -> list[Unsettled]:
    """Of claims that are gone, whichever process stored them."""
    uids = {claim["metadata"]["uid"] for claim in cluster.mirror.objects[CLAIMS].values()}
    left = [
        f"intent {intent.name} is still {intent.state}, and its claim is gone"
        for intent in await _stored_intents(cluster)
        if intent.uid not in uids and intent.volume_id not in suspected
    ]
    return [Unsettled(invariant=Invariant.NO_LEAKS, message=told) for told in sorted(left)]


def _reclaimed(cluster: SimulatedCluster) -> Iterator[Unsettled]:
    uids = {claim["metadata"]["uid"] for claim in cluster.mirror.objects[CLAIMS].values()}
    for name, volume in sorted(cluster.mirror.objects[VOLUMES].items()):
        uid = (volume["spec"].get("claimRef") or {}).get("uid")
        phase = (volume.get("status") or {}).get("phase")
        is_kept = volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
        if uid and uid not in uids and not (is_kept and phase == "Released"):
            message = f"the claim of {name} is gone, and it is still {phase}"
            yield Unsettled(invariant=Invariant.RECLAIMED, message=message)


async def _claims(cluster: SimulatedCluster) -> list[Unsettled]:
    """Those that need no pod to get their volumes, and those that have half of one."""
    immediate = {
        each.name: each.driver
        for each in cluster.shape.classes
        # Of any other class it is not known which pools would do.
        if each.is_immediate and each.driver in cluster.drivers
        if not (each.allowed or each.parameters)
    }
    most = {
        driver: max((await cluster.drivers[driver].free_bytes()).values(), default=0)
        for driver in sorted({*immediate.values()})
    }
    found: list[Unsettled] = []
    for key, claim in sorted(cluster.mirror.objects[CLAIMS].items()):
        if (claim.get("status") or {}).get("phase") in ("Bound", "Lost"):
            continue
        driver = immediate.get(claim["spec"].get("storageClassName", ""))
        if volume := claim["spec"].get("volumeName"):
            found.append(_stuck(f"claim {key} names {volume}, and is not bound"))
        elif _lacks_source(cluster, claim):
            continue
        elif driver is not None and most[driver] >= requested_bytes(claim):
            found.append(_stuck(f"claim {key} has no volume, and {driver} could make one"))
    return found


def leading_scheduler(cluster: SimulatedCluster) -> Scheduler | None:
    """None: none leads, or it has yet to see the cluster."""
    only = cluster.components["scheduler-0"] if cluster.shape.copies.schedulers == 1 else None
    component = only or cluster.leader("scheduler")
    program = None if component is None or component.life is None else component.life.program
    if not isinstance(program, SchedulerProcess) or program.scheduler is None:
        return None
    return program.scheduler if program.scheduler.is_synced else None


def _caches(cluster: SimulatedCluster) -> Iterator[Unsettled]:
    """Objects that the leading scheduler still has, or does not have yet."""
    scheduler = leading_scheduler(cluster)
    if scheduler is None:
        return
    stores, objects = scheduler.state.stores, cluster.mirror.objects
    cached: dict[str, Iterable[ApiObject]] = {
        PODS: stores.pods.observed().objects.values(),
        CLAIMS: stores.claims.observed().objects.values(),
        VOLUMES: stores.volumes.observed().objects.values(),
        NODES: stores.nodes.snapshot().objects.values(),
        ATTACHMENTS: stores.attachments.snapshot().objects.values(),
        CAPACITIES: stores.capacities.snapshot().objects.values(),
    }
    for kind, held in cached.items():
        has = {str(each.key): each.uid for each in held}
        real = {key: each["metadata"]["uid"] for key, each in objects[kind].items()}
        if kind == PODS:
            real = {key: uid for key, uid in real.items() if not _is_over(objects[kind][key])}
        for key in sorted(key for key in has.keys() | real.keys() if has.get(key) != real.get(key)):
            word = "has not got" if key not in has else "still has"
            message = f"the scheduler {word} {kind} {key}"
            yield Unsettled(invariant=Invariant.CACHES_ARE_TRUE, message=message)


def _reservations(cluster: SimulatedCluster) -> Iterator[Unsettled]:
    """Room that the leading scheduler keeps for volumes which are not on their way."""
    scheduler = leading_scheduler(cluster)
    claims = cluster.mirror.objects[CLAIMS]
    fit = None if scheduler is None else scheduler.kernel.joint_fit
    charges = None if fit is None else fit.charges
    for charge in () if charges is None else charges.listed():
        reserved = charge.reservation
        claim = claims.get(str(reserved.claim))
        if claim is None or claim["spec"].get("volumeName"):
            message = f"{reserved.size} bytes on {reserved.node} are reserved for {reserved.claim}"
            yield Unsettled(invariant=Invariant.NOTHING_RESERVED_LEFT, message=message)


def _is_over(pod: Document) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


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
