"""What it costs to choose a node for a pod, in clusters of several sizes.

Pods come in fifty different shapes, one after the other. After each choice the cluster is changed
as it would be in earnest: the pod is on its node, volumes name their claims, claims their nodes,
and the driver reports what is left. That is part of the cost. It is processor time: nothing waits.
"""

import gc
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from bench.measurement import Measurement
from bench.preemption import measure_preemption
from plimsoll.api.core import Node, NodeStatus
from plimsoll.api.meta import ApiObject, ObjectKey, ObjectMeta, OwnerReference
from plimsoll.api.pods import (
    Affinity,
    ClaimVolume,
    Container,
    ContainerResources,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    PodVolume,
    TopologySpreadConstraint,
)
from plimsoll.api.selectors.label import LabelSelectorSpec
from plimsoll.api.selectors.node import NodeRequirementSpec, NodeSelectorSpec, NodeTermSpec
from plimsoll.api.storage import (
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    CSIStorageCapacity,
    StorageClass,
    VolumeLimit,
)
from plimsoll.api.volumes import (
    ClaimSpec,
    CsiSource,
    PersistentVolume,
    PersistentVolumeClaim,
    Resources,
    VolumeNodeAffinity,
    VolumeSpec,
    VolumeStatus,
)
from plimsoll.api.workloads import ReplicaSet, ReplicaSpec
from plimsoll.decide.annotations import BIND_COMPLETED, SELECTED_NODE
from plimsoll.decide.capacity.pools import POOLS, PublishedPool, pools_text
from plimsoll.decide.capacity.tokens import CAPACITY_TOKEN
from plimsoll.decide.capacity.volume_sizes import Cost
from plimsoll.decide.scheduling.binding.bind_volumes import naming_claim, naming_node
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel, Placement
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import DynamicProvision

SIZES = (500, 5_000, 15_000)
PODS = 1_000
SHAPES = 50
WARM_UP = SHAPES
PART = 50
"""The median over parts of so many pods is taken: on a shared machine some parts are slower."""
VOLUMES_PER_NODE = 3
LATER = 300
"""Pods that come between a decision and the record of its volume, and until the report."""
GIB = 2**30

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
DRIVER, STATIC, DYNAMIC, POOLED = "bench.example.com", "static", "dynamic", "pooled"
"""The last is the class of a driver that lists its pools. Its volumes are recorded some time after
the decision, and reported some time after that."""


@dataclass(frozen=True, slots=True)
class Workload:
    name: str
    claims: tuple[Callable[[int, int], Iterator[ApiObject]], ...] = ()
    """For each claim of a pod what makes it, given the number of the pod and of the claim."""
    pod: Callable[[Pod, int], Pod] = lambda pod, _: pod
    """What becomes of a pod, given its number."""
    setup: Callable[[], Iterator[ApiObject]] = lambda: iter(())
    """What the cluster has beside nodes and storage."""


def measure_scheduling(say: Callable[[str], None]) -> list[Measurement]:
    found = []
    for nodes in SIZES:
        for workload in WORKLOADS:
            say(f"  {workload.name}, {nodes} nodes")
            found.append(_measured(workload, nodes))
        say(f"  preemption, {nodes} nodes")
        found.append(measure_preemption(nodes))
    return found


def _measured(workload: Workload, nodes: int) -> Measurement:
    columns = Columns.of((*a_cluster(nodes), *workload.setup()))
    pods = [*_waiting(workload, columns)]
    kernel, flight = Kernel(columns), Flight()
    gc.collect()
    gc.disable()
    try:
        for pod in pods[:WARM_UP]:
            _place(kernel, pod, flight)
        spent = [
            _seconds(kernel, pods[first : first + PART], flight)
            for first in range(WARM_UP, len(pods), PART)
        ]
    finally:
        gc.enable()
    return Measurement(
        name=f"{nodes} nodes: {workload.name}",
        value=1e6 * statistics.median(spent) / PART,
        unit="us/pod",
        better="lower",
    )


def _seconds(kernel: Kernel, pods: list[Pod], flight: "Flight") -> float:
    began = time.process_time()
    for pod in pods:
        _place(kernel, pod, flight)
    return time.process_time() - began


def _place(kernel: Kernel, pod: Pod, flight: "Flight") -> None:
    chosen = kernel.decide(pod)
    if not isinstance(chosen, Placement):
        raise TypeError(f"no node for {pod.key}: {chosen.message}")
    columns = kernel.columns
    spec = msgspec.structs.replace(pod.spec, node_name=chosen.node)
    columns.put(msgspec.structs.replace(pod, spec=spec))
    for binding in chosen.volumes.static:
        columns.put(naming_claim(binding.volume, binding.claim))
    for made in chosen.volumes.provisions:
        columns.put(naming_node(made.claim, chosen.node))
        if made.claim.storage_class == POOLED:
            flight.begin(made)
        elif made.capacity is not None and made.capacity.capacity is not None:
            left = int(made.capacity.capacity) - made.claim.spec.requested_bytes
            columns.put(msgspec.structs.replace(made.capacity, capacity=str(left)))
    columns.reservations.decide_pod(pod.key)
    flight.go_on(columns)


class Flight:
    """Volumes of declared pools, from the decision to the report."""

    def __init__(self) -> None:
        self._decided: deque[DynamicProvision] = deque()
        self._recorded: deque[tuple[DynamicProvision, int]] = deque()
        self._counter = 1

    def begin(self, made: DynamicProvision) -> None:
        self._decided.append(made)

    def go_on(self, columns: Columns) -> None:
        while len(self._decided) > LATER:
            made = self._decided.popleft()
            self._counter += 1
            columns.put(_recorded(made.claim, self._counter, columns))
            self._recorded.append((made, self._counter))
        while len(self._recorded) > LATER:
            made, counter = self._recorded.popleft()
            if made.capacity is not None:
                columns.put(_reported(made.capacity.key, counter, columns))


def _recorded(claim: PersistentVolumeClaim, counter: int, columns: Columns) -> PersistentVolume:
    """In the zone of the selected node: one that is made elsewhere is charged nowhere."""
    chosen = columns.claim(claim.key)
    node = None if chosen is None else columns.node(chosen.annotations[SELECTED_NODE])
    zone = "zone-0" if node is None else node.labels[ZONE]
    volume = a_volume(f"pvc-{claim.uid}", POOLED, (ZONE, zone), gib=1)
    told = msgspec.structs.replace(volume.metadata, annotations={CAPACITY_TOKEN: f"1.0.{counter}"})
    return naming_claim(msgspec.structs.replace(volume, metadata=told), claim)


def _reported(key: ObjectKey, counter: int, columns: Columns) -> CSIStorageCapacity:
    """As it is, with the token: what the volume took is little beside what is free."""
    object_ = columns.capacity.by_class[POOLED].get(key)
    annotations = {**object_.annotations, CAPACITY_TOKEN: f"1.0.{counter}"}
    metadata = msgspec.structs.replace(object_.metadata, annotations=annotations)
    return msgspec.structs.replace(object_, metadata=metadata)


def a_cluster(nodes: int) -> Iterator[ApiObject]:
    yield CSIDriver(metadata=ObjectMeta(name=DRIVER), spec=CSIDriverSpec(storage_capacity=True))
    yield a_class(STATIC, "kubernetes.io/no-provisioner")
    yield a_class(DYNAMIC, DRIVER)
    yield a_class(POOLED, DRIVER)
    for number in range(nodes):
        name = f"node-{number:05}"
        yield a_node(name, number)
        limit = CSINodeDriver(name=DRIVER, node_id=name, allocatable=VolumeLimit(count=100))
        yield CSINode(metadata=ObjectMeta(name=name), spec=CSINodeSpec(drivers=(limit,)))
        yield a_capacity(number, DYNAMIC)
        yield a_capacity(number, POOLED)
        for which in range(VOLUMES_PER_NODE):
            yield a_volume(f"local-{number:05}-{which}", STATIC, (HOST, name), gib=10 + which * 10)


def a_capacity(number: int, class_: str) -> CSIStorageCapacity:
    free = (500 + number % 100) * GIB
    listed = PublishedPool(name=f"disks-{number:05}", free={"": free}, cost=Cost())
    told = {POOLS: str(pools_text([listed])), CAPACITY_TOKEN: "1.0.1"} if class_ == POOLED else {}
    name = f"{class_}-{number:05}"
    return CSIStorageCapacity(
        metadata=ObjectMeta(name=name, namespace="storage", annotations=told),
        storage_class_name=class_,
        node_topology=LabelSelectorSpec(match_labels={HOST: f"node-{number:05}"}),
        capacity=str(free),
    )


def a_node(name: str, number: int) -> Node:
    labels = {HOST: name, ZONE: f"zone-{number % 3}", "pool": f"pool-{number % 10}"}
    room = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    return Node(metadata=ObjectMeta(name=name, labels=labels), status=NodeStatus(allocatable=room))


def a_class(name: str, provisioner: str) -> StorageClass:
    return StorageClass(
        metadata=ObjectMeta(name=name),
        provisioner=provisioner,
        volume_binding_mode="WaitForFirstConsumer",
    )


def a_volume(name: str, class_: str, reach: tuple[str, str], *, gib: int) -> PersistentVolume:
    key, value = reach
    requirement = NodeRequirementSpec(key=key, operator="In", values=(value,))
    term = NodeTermSpec(match_expressions=(requirement,))
    selector = NodeSelectorSpec(node_selector_terms=(term,))
    return PersistentVolume(
        metadata=ObjectMeta(name=name),
        spec=VolumeSpec(
            capacity={"storage": f"{gib}Gi"},
            access_modes=("ReadWriteOnce",),
            storage_class_name=class_,
            node_affinity=VolumeNodeAffinity(required=selector),
            csi=CsiSource(driver=DRIVER, volume_handle=name),
        ),
        status=VolumeStatus(phase="Available"),
    )


def _waiting(workload: Workload, columns: Columns) -> Iterator[Pod]:
    for number in range(PODS + WARM_UP):
        for which, make in enumerate(workload.claims):
            for object_ in make(number, which):
                columns.put(object_)
        yield workload.pod(a_pod(number, len(workload.claims)), number)


def keeping_apart(sets: int) -> Callable[[Pod, int], Pod]:
    """Pods of so many sets, each of which has at most one pod on each node."""

    def kept(pod: Pod, number: int) -> Pod:
        labels = {"app": f"app-{number % sets}"}
        selector = LabelSelectorSpec(match_labels=labels)
        term = PodAffinityTerm(label_selector=selector, topology_key=HOST)
        affinity = Affinity(pod_anti_affinity=PodAffinity(required=(term,)))
        return msgspec.structs.replace(
            pod,
            metadata=msgspec.structs.replace(pod.metadata, labels=labels),
            spec=msgspec.structs.replace(pod.spec, affinity=affinity),
        )

    return kept


def a_pod(number: int, claims: int) -> Pod:
    """Every tenth of the shapes asks for one pool of nodes."""
    shape = number % SHAPES
    requests = {"cpu": f"{100 + shape * 10}m", "memory": f"{128 + shape * 16}Mi"}
    names = [claim_name(number, which) for which in range(claims)]
    return Pod(
        metadata=ObjectMeta(name=f"pod-{number}", namespace="bench", uid=f"uid-{number}"),
        spec=PodSpec(
            containers=(Container(name="main", resources=ContainerResources(requests=requests)),),
            node_selector={"pool": f"pool-{shape // 10}"} if shape % 10 == 0 else {},
            volumes=tuple(
                PodVolume(name=name, persistent_volume_claim=ClaimVolume(claim_name=name))
                for name in names
            ),
        ),
    )


def claim_name(number: int, which: int) -> str:
    return f"data-{number}-{which}"


def a_claim(number: int, which: int, class_: str, volume: str = "") -> PersistentVolumeClaim:
    name = claim_name(number, which)
    return PersistentVolumeClaim(
        metadata=ObjectMeta(
            name=name,
            namespace="bench",
            uid=f"uid-{name}",
            annotations={BIND_COMPLETED: "yes"} if volume else {},
        ),
        spec=ClaimSpec(
            access_modes=("ReadWriteOnce",),
            resources=Resources(requests={"storage": f"{1 + number % 10}Gi"}),
            storage_class_name=class_,
            volume_name=volume,
        ),
    )


def bound(number: int, which: int) -> Iterator[ApiObject]:
    name = f"bound-{number}-{which}"
    claim = a_claim(number, which, DYNAMIC, name)
    yield claim
    volume = a_volume(name, DYNAMIC, (ZONE, f"zone-{number % 3}"), gib=10)
    yield naming_claim(volume, claim)


def static(number: int, which: int) -> Iterator[ApiObject]:
    yield a_claim(number, which, STATIC)


def dynamic(number: int, which: int) -> Iterator[ApiObject]:
    yield a_claim(number, which, DYNAMIC)


def pooled(number: int, which: int) -> Iterator[ApiObject]:
    yield a_claim(number, which, POOLED)


def app_of(number: int) -> str:
    return f"app-{number % SHAPES}"


def replica_sets() -> Iterator[ApiObject]:
    for number in range(SHAPES):
        selector = LabelSelectorSpec(match_labels={"app": app_of(number)})
        yield ReplicaSet(
            metadata=ObjectMeta(name=app_of(number), namespace="bench"),
            spec=ReplicaSpec(selector=selector),
        )


def owned(pod: Pod, number: int) -> Pod:
    """One of a ReplicaSet: nodes are scored by where the others are."""
    app = app_of(number)
    owner = OwnerReference(
        api_version="apps/v1", kind="ReplicaSet", name=app, uid=app, controller=True
    )
    metadata = msgspec.structs.replace(pod.metadata, labels={"app": app}, owner_references=(owner,))
    return msgspec.structs.replace(pod, metadata=metadata)


def spread(pod: Pod, number: int) -> Pod:
    """Over zones and over nodes, each strictly."""
    labels = {"app": app_of(number)}
    constraints = tuple(
        TopologySpreadConstraint(
            topology_key=key,
            max_skew=1,
            when_unsatisfiable="DoNotSchedule",
            label_selector=LabelSelectorSpec(match_labels=labels),
        )
        for key in (ZONE, HOST)
    )
    spec = msgspec.structs.replace(pod.spec, topology_spread_constraints=constraints)
    metadata = msgspec.structs.replace(pod.metadata, labels=labels)
    return msgspec.structs.replace(pod, metadata=metadata, spec=spec)


WORKLOADS = (
    Workload("no volumes"),
    Workload("no volumes, of ReplicaSets", (), owned, replica_sets),
    Workload("no volumes, hard spread by zone and node", (), spread),
    Workload("anti-affinity by hostname, sets of 10", (), keeping_apart(105)),
    Workload("anti-affinity by hostname, sets of 350", (), keeping_apart(3)),
    Workload("bound volume", (bound,)),
    Workload("static delayed binding", (static,)),
    Workload("dynamic delayed binding, capacity", (dynamic,)),
    Workload("dynamic delayed binding, pools, in flight", (pooled,)),
    Workload("three claims", (static, dynamic, dynamic)),
    Workload("three claims, pools, in flight", (static, pooled, pooled)),
)
