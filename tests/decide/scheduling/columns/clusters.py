"""Random objects of small clusters, in which almost anything can happen to anything else.

Names come from small pools, so that objects refer to each other, miss each other, and replace one
another. Everything follows from the chance that is given: hypothesis draws its seed.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

from plimsoll.api.core import (
    ContainerImage,
    Node,
    NodeSpec,
    NodeStatus,
    Service,
    ServiceSpec,
    Taint,
)
from plimsoll.api.meta import ApiObject, ObjectMeta, ObjectReference, OwnerReference
from plimsoll.api.pods import (
    Affinity,
    ClaimVolume,
    Container,
    ContainerResources,
    ContainerRestartRule,
    EphemeralVolume,
    NodeAffinity,
    Pod,
    PodResourceClaim,
    PodSpec,
    PodVolume,
    Toleration,
    TopologySpreadConstraint,
)
from plimsoll.api.quantity import parse_bytes
from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.api.selectors.node import (
    NodeRequirementSpec,
    NodeSelectorSpec,
    NodeTermSpec,
    PreferredTermSpec,
)
from plimsoll.api.selectors.topology import TopologyLabelSpec, TopologyTermSpec
from plimsoll.api.storage import (
    AttachmentSource,
    AttachmentSpec,
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
    VolumeLimit,
)
from plimsoll.api.volumes import (
    AwsElasticBlockStore,
    ClaimSpec,
    ClaimStatus,
    CsiSource,
    GcePersistentDisk,
    PersistentVolume,
    PersistentVolumeClaim,
    Resources,
    VolumeNodeAffinity,
    VolumeSpec,
    VolumeStatus,
)
from plimsoll.api.workloads import (
    ReplicaSet,
    ReplicaSpec,
    ReplicationController,
    ReplicationControllerSpec,
    StatefulSet,
    StatefulSetSpec,
)
from plimsoll.decide.annotations import (
    BIND_COMPLETED,
    MIGRATED_PLUGINS,
    PREFERRED_TOPOLOGY,
    SELECTED_NODE,
)
from plimsoll.decide.capacity.pools import (
    CLASS_POOL,
    CLASS_POOL_COST,
    POOLS,
    PublishedPool,
    pools_text,
)
from plimsoll.decide.capacity.tokens import CAPACITY_TOKEN
from plimsoll.decide.capacity.volume_sizes import Cost
from plimsoll.decide.preferred_topology import preferred_text
from tests.decide.scheduling.columns import neighbours

T = TypeVar("T")

NODES = ["n1", "n2", "n3", "n4"]
ZONE, OLD_ZONE, HOST = (
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/hostname",
)
CLASSES = ["local", "fast", "zonal", "old"]
DRIVERS = ["d1.example.com", "d2.example.com"]
PLUGINS = ["kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"]
CLAIMS = ["c1", "c2", "c3", "c4", "c5"]
VOLUMES = ["v1", "v2", "v3", "v4", "v5", "v6", "v7"]
MODES = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteOncePod"]
SIZES = ["1Gi", "2Gi", "3Gi", "5Gi"]
ODD_SIZES = ["0", "1500m", "1700m", "10E", "1e999999999"]
PODS = ["p1", "p2", "p3", "p4"]
NAMESPACE = "default"
DELAYED = "WaitForFirstConsumer"
LONG_AGO = datetime(2025, 1, 1, tzinfo=UTC)

seeds = st.integers(0, 2**32 - 1)


class Chance(Random):
    """Random with the words that the builders below are made of."""

    def happens(self, percent: int) -> bool:
        return self.random() * 100 < percent

    def usually(self, usual: T, others: Sequence[T], percent: int = 75) -> T:
        return usual if self.happens(percent) else self.choice(others)

    def some(self, pool: Sequence[T], least: int = 0, most: int = 3) -> list[T]:
        return self.sample(pool, self.randint(least, min(most, len(pool))))

    def size(self) -> str:
        return self.usually(self.choice(SIZES), ODD_SIZES, 90)


def labels(chance: Chance, name: str) -> dict[str, str]:
    found = {HOST: name} if chance.happens(90) else {}
    if chance.happens(80):
        found[ZONE] = chance.choice(["a", "b"])
    if chance.happens(15):
        found[OLD_ZONE] = chance.choice(["a", "b"])
    if chance.happens(40):
        found["disk"] = chance.choice(["ssd", "7", "12"])
    return found


def taint(chance: Chance) -> Taint:
    return Taint(
        key=chance.choice(["gpu", "node.kubernetes.io/unschedulable"]),
        value=chance.choice(["", "x"]),
        effect=chance.choice(["NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute"]),
    )


FEATURES = ["RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"]


def features(chance: Chance) -> tuple[str, ...]:
    return tuple(chance.some(FEATURES, most=2)) if chance.happens(50) else ()


IMAGES = [
    ContainerImage(names=("web:1", "registry.example.com:5000/web:1"), size_bytes=500 * 2**20),
    ContainerImage(names=("db:latest",), size_bytes=3000 * 2**20),
    ContainerImage(names=("tiny:1",), size_bytes=2**20),
    ContainerImage(names=None, size_bytes=7),
]
"""Each always of one size: otherwise scores would depend on who reported it first."""


def images(chance: Chance) -> tuple[ContainerImage, ...]:
    return tuple(chance.some(IMAGES, most=4))


def a_random_node(chance: Chance) -> Node:
    name = chance.choice(NODES)
    room = {
        "cpu": chance.usually("4", ["500m", "0", "2"]),
        "memory": chance.usually("8Gi", ["1Gi", "0", "4Gi"]),
        "pods": chance.usually("10", ["1", "0"], 90),
        "ephemeral-storage": chance.usually("10Gi", ["1Gi"]),
    }
    if chance.happens(40):
        room["example.com/gpu"] = chance.choice(["1", "2"])
    taints = {each.key + each.effect: each for each in [taint(chance), taint(chance)]}
    return Node(
        metadata=ObjectMeta(name=name, labels=labels(chance, name)),
        spec=NodeSpec(
            unschedulable=chance.happens(8),
            taints=tuple(taints.values()) if chance.happens(25) else (),
        ),
        status=NodeStatus(
            allocatable=room, declared_features=features(chance), images=images(chance)
        ),
    )


REQUIREMENTS = [
    NodeRequirementSpec(key=ZONE, operator="In", values=("a",)),
    NodeRequirementSpec(key=ZONE, operator="In", values=("a", "b")),
    NodeRequirementSpec(key=ZONE, operator="NotIn", values=("a",)),
    NodeRequirementSpec(key="topology.ebs.csi.aws.com/zone", operator="In", values=("a",)),
    NodeRequirementSpec(key=HOST, operator="In", values=("n1",)),
    NodeRequirementSpec(key=HOST, operator="In", values=("n2", "n3")),
    NodeRequirementSpec(key=HOST, operator="In", values=("n3", "n4")),
    NodeRequirementSpec(key="disk", operator="Exists"),
    NodeRequirementSpec(key="disk", operator="DoesNotExist"),
    NodeRequirementSpec(key="disk", operator="Gt", values=("8",)),
    NodeRequirementSpec(key="disk", operator="Lt", values=("8",)),
    NodeRequirementSpec(key="disk", operator="Gt", values=("-1",)),
    NodeRequirementSpec(key=ZONE, operator="In", values=()),
]
FIELDS = [
    NodeRequirementSpec(key="metadata.name", operator="In", values=("n1",)),
    NodeRequirementSpec(key="metadata.name", operator="NotIn", values=("n1",)),
    NodeRequirementSpec(key="metadata.uid", operator="In", values=("",)),
]


def term(chance: Chance) -> NodeTermSpec:
    return NodeTermSpec(
        match_expressions=tuple(chance.some(REQUIREMENTS, most=2)),
        match_fields=tuple(chance.some(FIELDS, most=1)) if chance.happens(25) else (),
    )


def node_selector(chance: Chance) -> NodeSelectorSpec:
    if chance.happens(60):
        simple = NodeTermSpec(match_expressions=(chance.choice(REQUIREMENTS[:7]),))
        return NodeSelectorSpec(node_selector_terms=(simple,))
    terms = (term(chance) for _ in range(chance.randint(0, 2)))
    return NodeSelectorSpec(node_selector_terms=tuple(terms))


def source(chance: Chance) -> dict[str, Any]:
    match chance.usually("csi", ["aws", "gce", "none"]):
        case "csi":
            handle = chance.choice(["h1", "h2", "h3", "h4", ""])
            return {"csi": CsiSource(driver=chance.choice(DRIVERS), volume_handle=handle)}
        case "aws":
            identifier = chance.choice(["vol-1", "aws://a/vol-2", "aws://a/bad/id"])
            return {"aws_elastic_block_store": AwsElasticBlockStore(volume_id=identifier)}
        case "gce":
            return {"gce_persistent_disk": GcePersistentDisk(pd_name="disk")}
        case _:
            return {}


def reference(chance: Chance) -> ObjectReference:
    name = chance.choice(CLAIMS)
    uid = chance.choice([f"uid-{name}", f"uid-{name}", "", "other"])
    return ObjectReference(namespace=NAMESPACE, name=name, uid=uid)


def a_random_volume(chance: Chance) -> PersistentVolume:
    found = {}
    for key in (ZONE, OLD_ZONE):
        if chance.happens(15):
            found[key] = chance.choice(["a", "b", "a__b", "a__"])
    if chance.happens(40):
        found["tier"] = "gold"
    reach = VolumeNodeAffinity(required=node_selector(chance)) if chance.happens(70) else None
    spec = VolumeSpec(
        capacity={"storage": chance.size()},
        access_modes=tuple(chance.some(MODES, least=1, most=3)),
        claim_ref=reference(chance) if chance.happens(15) else None,
        storage_class_name=chance.usually("local", CLASSES, 50),
        volume_mode="Block" if chance.happens(8) else None,
        node_affinity=reach,
        **source(chance),
    )
    return PersistentVolume(
        metadata=ObjectMeta(
            name=chance.choice(VOLUMES),
            labels=found,
            annotations=token_annotation(chance) | preferred_annotation(chance),
            deletion_timestamp=LONG_AGO if chance.happens(4) else None,
        ),
        spec=spec,
        status=VolumeStatus(phase=chance.usually("Available", ["Bound", "Pending"], 90)),
    )


def preferred_annotation(chance: Chance) -> dict[str, str]:
    """Where the volume is cheap to use; sometimes text that cannot be read."""
    if chance.happens(60):
        return {}
    levels = [{ZONE: chance.choice(["a", "b"])}, {"disk": "ssd", HOST: chance.choice(NODES)}]
    text = preferred_text(levels[: chance.randint(1, 2)])
    return {PREFERRED_TOPOLOGY: chance.usually(text, ["", "[]", "{", '[{"a": 1}]'], 90)}


SELECTORS = [
    LabelSelectorSpec(match_labels={"tier": "gold"}),
    LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key="tier", operator="Exists"),)),
    LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key="tier", operator="Nonsense"),)),
]


def a_random_claim(chance: Chance) -> PersistentVolumeClaim:
    name = chance.usually(chance.choice(CLAIMS), ["p1-scratch", "new-scratch"], 85)
    volume = chance.choice(VOLUMES) if chance.happens(25) else ""
    annotations = {}
    if volume and chance.happens(95):
        annotations[BIND_COMPLETED] = "yes"
    if chance.happens(20):
        annotations[SELECTED_NODE] = chance.choice(NODES)
    pod = name.split("-")[0]
    owner = OwnerReference(kind="Pod", name=pod, uid=f"uid-{pod}", controller=True)
    return PersistentVolumeClaim(
        metadata=ObjectMeta(
            name=name,
            namespace=NAMESPACE,
            uid=f"uid-{name}",
            annotations=annotations,
            owner_references=(owner,) if "-" in name and chance.happens(90) else (),
        ),
        spec=ClaimSpec(
            access_modes=(chance.choice(MODES),) if chance.happens(90) else (),
            selector=chance.choice(SELECTORS) if chance.happens(15) else None,
            resources=Resources(requests={"storage": chance.size()} if chance.happens(95) else {}),
            storage_class_name=chance.choice(CLASSES),
            volume_name=volume,
            volume_mode="Block" if chance.happens(8) else None,
        ),
        status=ClaimStatus(phase="Lost" if chance.happens(2) else "Pending"),
    )


def allowed(key: str, *values: str) -> TopologyLabelSpec:
    return TopologyLabelSpec(key=key, values=values)


TOPOLOGIES = [
    (TopologyTermSpec(match_label_expressions=(allowed(ZONE, "a"),)),),
    (
        TopologyTermSpec(match_label_expressions=(allowed(ZONE, "b"),)),
        TopologyTermSpec(match_label_expressions=(allowed(ZONE, "a"), allowed("disk", "ssd", "7"))),
    ),
]


def a_random_class(chance: Chance) -> StorageClass:
    name = chance.choice(CLASSES)
    provisioners = {
        "local": "kubernetes.io/no-provisioner",
        "fast": chance.choice(DRIVERS),
        "zonal": DRIVERS[0],
        "old": chance.choice(PLUGINS),
    }
    annotations = {}
    if chance.happens(30):
        cost = chance.usually(chance.choice(["1", "1.5", "2"]), ["0", "two"], 90)
        annotations = {CLASS_POOL: "q1", CLASS_POOL_COST: cost}
    return StorageClass(
        metadata=ObjectMeta(name=name, annotations=annotations),
        provisioner=provisioners[name],
        volume_binding_mode=chance.usually(DELAYED, ["Immediate", None], 95),
        allowed_topologies=chance.choice(TOPOLOGIES)
        if name in ("zonal", "old") and chance.happens(60)
        else (),
    )


def a_random_driver(chance: Chance) -> CSIDriver:
    return CSIDriver(
        metadata=ObjectMeta(name=chance.choice(DRIVERS)),
        spec=CSIDriverSpec(
            storage_capacity=chance.happens(80),
            prevent_pod_scheduling_if_missing=chance.happens(25),
        ),
    )


LIMITS = (0, 1, 2, 3, 4, 15, 16, 17, 18)
"""Around none, and around what the columns take for few."""


def a_random_csi_node(chance: Chance) -> CSINode:
    drivers = tuple(
        CSINodeDriver(
            name=name,
            allocatable=VolumeLimit(count=chance.choice(LIMITS)) if chance.happens(50) else None,
        )
        for name in chance.some([*DRIVERS, DRIVERS[0], "ebs.csi.aws.com"])
    )
    plugins = ",".join(chance.some(PLUGINS))
    return CSINode(
        metadata=ObjectMeta(name=chance.choice(NODES), annotations={MIGRATED_PLUGINS: plugins}),
        spec=CSINodeSpec(drivers=tuple({each.name: each for each in drivers}.values())),
    )


SEGMENTS = [
    LabelSelectorSpec(match_labels={HOST: "n1"}),
    LabelSelectorSpec(match_labels={HOST: "n2"}),
    LabelSelectorSpec(match_labels={ZONE: "a"}),
    LabelSelectorSpec(match_labels={ZONE: "b"}),
    LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key="disk", operator="Exists"),)),
    LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key="disk", operator="Nonsense"),)),
    LabelSelectorSpec(),
    None,
]


def a_random_pool(chance: Chance, name: str) -> PublishedPool:
    extents = chance.some(["e1", "e2", "e3"], least=1)
    cost = Cost(
        copies=chance.choice([1, 1, 2]),
        shares=chance.choice([0, 1, 1, 2]),
        unit_bytes=chance.choice([1, 2**28]),
        overhead_bytes=chance.choice([0, 2**20]),
    )
    free = {extent: parse_bytes(chance.choice(SIZES)) for extent in extents}
    return PublishedPool(name=name, free=free, cost=cost)


def token_annotation(chance: Chance) -> dict[str, str]:
    return {CAPACITY_TOKEN: f"1.1.{chance.randint(1, 3)}"} if chance.happens(50) else {}


def pools_annotation(chance: Chance) -> dict[str, str]:
    if not chance.happens(40):
        return {}
    names = chance.some(["q1", "q2"], least=1)
    text = pools_text([a_random_pool(chance, name) for name in names])
    return {POOLS: chance.usually(str(text), ["[]", "nonsense"], 90)}


def a_random_capacity(chance: Chance) -> CSIStorageCapacity:
    return CSIStorageCapacity(
        metadata=ObjectMeta(
            name=chance.choice(["k1", "k2", "k3", "k4"]),
            namespace=NAMESPACE,
            annotations=pools_annotation(chance) | token_annotation(chance),
        ),
        storage_class_name=chance.choice(["fast", "zonal"]),
        node_topology=chance.choice(SEGMENTS),
        capacity=chance.size() if chance.happens(90) else None,
        maximum_volume_size=chance.size() if chance.happens(20) else None,
    )


def a_random_attachment(chance: Chance) -> VolumeAttachment:
    volume = chance.choice(VOLUMES) if chance.happens(90) else None
    return VolumeAttachment(
        metadata=ObjectMeta(name=chance.choice(["a1", "a2", "a3"])),
        spec=AttachmentSpec(
            attacher=chance.usually(chance.choice(DRIVERS), [""], 90),
            node_name=chance.choice(NODES),
            source=AttachmentSource(persistent_volume_name=volume),
        ),
    )


def pod_volumes(chance: Chance, claims: Sequence[str]) -> list[PodVolume]:
    found = [
        PodVolume(name=name, persistent_volume_claim=ClaimVolume(claim_name=name))
        for name in chance.some(claims, most=3)
    ]
    if chance.happens(10):
        found.append(PodVolume(name="scratch", ephemeral=EphemeralVolume()))
    if chance.happens(15):
        disk = GcePersistentDisk(pd_name="disk", read_only=chance.happens(50))
        found.append(PodVolume(name="disk", gce_persistent_disk=disk))
    if chance.happens(6):
        identifier = chance.choice(["vol-1", "aws://a/bad/id"])
        ebs = AwsElasticBlockStore(volume_id=identifier)
        found.append(PodVolume(name="ebs", aws_elastic_block_store=ebs))
    return found


RESTART_ALL = ContainerRestartRule(action="RestartAllContainers")


def pod_spec(chance: Chance, node: str, claims: Sequence[str]) -> PodSpec:
    requests = {
        name: chance.usually(usual, [other], 85)
        for name, usual, other, percent in (
            ("cpu", "100m", "2", 70),
            ("memory", "256Mi", "5Gi", 70),
            ("ephemeral-storage", "1Gi", "9Gi", 30),
            ("example.com/gpu", "1", "2", 8),
        )
        if chance.happens(percent)
    }
    preferred = (
        PreferredTermSpec(weight=chance.randint(1, 9), preference=term(chance)) for _ in range(2)
    )
    affinity = NodeAffinity(
        required=node_selector(chance) if chance.happens(15) else None,
        preferred=tuple(preferred) if chance.happens(30) else (),
    )
    tolerations = (
        Toleration(
            key=chance.choice(["", "gpu", "node.kubernetes.io/unschedulable"]),
            operator=chance.choice(["", "Exists", "Equal"]),
            value=chance.choice(["", "x"]),
            effect=chance.choice(["", "NoSchedule", "PreferNoSchedule"]),
        )
        for _ in range(chance.randint(0, 2))
    )
    return PodSpec(
        node_name=node,
        containers=(
            Container(
                name="main",
                image=chance.choice(["web:1", "registry.example.com:5000/web:1", "db", "other"]),
                resources=ContainerResources(requests=requests),
                ports=neighbours.some_ports(chance),
                restart_policy_rules=(RESTART_ALL,) if chance.happens(5) else (),
            ),
        ),
        volumes=tuple(pod_volumes(chance, claims)),
        node_selector={ZONE: "a"} if chance.happens(10) else {},
        affinity=Affinity(
            node_affinity=affinity,
            pod_affinity=neighbours.some_affinity(chance),
            pod_anti_affinity=neighbours.some_affinity(chance),
        ),
        tolerations=tuple(tolerations),
        resource_claims=(PodResourceClaim(name="gpu"),) if chance.happens(3) else (),
        host_network=chance.happens(10),
        host_users=chance.usually(None, [False, True], 50),
        topology_spread_constraints=spread_constraints(chance) if not node else (),
    )


def a_placed_pod(chance: Chance) -> Pod:
    name = chance.choice(PODS)
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=chance.usually(NAMESPACE, neighbours.NAMESPACES),
            uid=f"uid-{name}",
            labels=neighbours.pod_labels(chance),
            deletion_timestamp=LONG_AGO if chance.happens(10) else None,
        ),
        spec=pod_spec(chance, chance.choice(NODES), CLAIMS),
    )


def a_pod_of_a_crowd(chance: Chance) -> Pod:
    """One of those that are counted by rules about other pods."""
    name, node = f"crowd-{chance.randint(1, 12)}", chance.choice([*NODES, "gone"])
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=chance.usually(NAMESPACE, ["other"], 90),
            uid=f"uid-{name}",
            labels=neighbours.pod_labels(chance),
            deletion_timestamp=LONG_AGO if chance.happens(10) else None,
        ),
        spec=PodSpec(node_name=node if chance.happens(95) else ""),
    )


POD_SELECTORS = [
    LabelSelectorSpec(match_labels={"app": "web"}),
    LabelSelectorSpec(match_labels={"app": "web", "hash": "1"}),
    LabelSelectorSpec(
        match_expressions=(LabelRequirementSpec(key="app", operator="In", values=("web", "db")),)
    ),
    LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key="hash", operator="Exists"),)),
    LabelSelectorSpec(
        match_expressions=(LabelRequirementSpec(key="app", operator="NotIn", values=("db",)),)
    ),
    LabelSelectorSpec(),
    None,
]
NO_SELECTOR = LabelSelectorSpec(
    match_expressions=(LabelRequirementSpec(key="app", operator="Nonsense"),)
)


def spread_constraints(chance: Chance) -> tuple[TopologySpreadConstraint, ...]:
    number = chance.usually(0, [1, 2, 3], 50)
    return tuple(spread_constraint(chance) for _ in range(number))


def spread_constraint(chance: Chance) -> TopologySpreadConstraint:
    selector = chance.usually(POD_SELECTORS[0], POD_SELECTORS, 40)
    return TopologySpreadConstraint(
        max_skew=chance.usually(1, [0, 2, 3]),
        topology_key=chance.choice([ZONE, ZONE, HOST, HOST, "disk"]),
        when_unsatisfiable=chance.choice(["DoNotSchedule", "ScheduleAnyway"]),
        label_selector=chance.usually(selector, [NO_SELECTOR], 97),
        min_domains=chance.usually(None, [1, 2, 3, 5]),
        node_affinity_policy=chance.usually(None, ["Honor", "Ignore"]),
        node_taints_policy=chance.usually(None, ["Honor", "Ignore"], 50),
        match_label_keys=chance.usually((), [("hash",), ("hash", "none")]),
    )


WORKLOADS = ["w1", "w2"]


def a_random_service(chance: Chance) -> Service:
    selector = chance.choice([{"app": "web"}, {"app": "db"}, {"hash": "1"}, {}])
    return Service(
        metadata=ObjectMeta(name=chance.choice(["s1", "s2"]), namespace=NAMESPACE),
        spec=ServiceSpec(selector=selector),
    )


def a_random_workload(chance: Chance) -> ApiObject:
    metadata = ObjectMeta(name=chance.choice(WORKLOADS), namespace=NAMESPACE)
    selector = chance.usually(chance.choice(POD_SELECTORS), [NO_SELECTOR], 95)
    match chance.choice(["ReplicaSet", "StatefulSet", "ReplicationController"]):
        case "ReplicaSet":
            return ReplicaSet(metadata=metadata, spec=ReplicaSpec(selector=selector))
        case "StatefulSet":
            return StatefulSet(metadata=metadata, spec=StatefulSetSpec(selector=selector))
        case _:
            spec = ReplicationControllerSpec(selector=neighbours.pod_labels(chance))
            return ReplicationController(metadata=metadata, spec=spec)


def a_random_owner(chance: Chance) -> OwnerReference:
    kind = chance.choice(["ReplicaSet", "StatefulSet", "ReplicationController", "Job"])
    return OwnerReference(
        api_version=chance.usually("v1" if kind.endswith("er") else "apps/v1", ["v1"], 90),
        kind=kind,
        name=chance.choice(WORKLOADS),
        uid="uid-owner",
        controller=chance.happens(95),
    )


def a_new_pod(chance: Chance, objects: Iterable[ApiObject] = ()) -> Pod:
    """Mostly with claims that exist."""
    known = [each.name for each in objects if isinstance(each, PersistentVolumeClaim)]
    claims = known if known and chance.happens(95) else CLAIMS
    return Pod(
        metadata=ObjectMeta(
            name="new",
            namespace=NAMESPACE,
            uid="uid-new",
            labels=neighbours.pod_labels(chance),
            owner_references=(a_random_owner(chance),) if chance.happens(60) else (),
        ),
        spec=pod_spec(chance, "", [name for name in claims if "-" not in name]),
    )


KINDS: Sequence[tuple[Callable[[Chance], ApiObject], int]] = (
    (a_random_node, 8),
    (a_random_volume, 10),
    (a_random_claim, 7),
    (a_random_class, 9),
    (a_random_driver, 3),
    (a_random_csi_node, 4),
    (a_random_capacity, 5),
    (a_random_attachment, 2),
    (a_placed_pod, 5),
    (neighbours.a_random_namespace, 2),
    (a_pod_of_a_crowd, 8),
    (a_random_service, 2),
    (a_random_workload, 3),
)
"""What there is, and about how much of it a cluster has."""


def an_object(chance: Chance) -> ApiObject:
    makers, weights = zip(*KINDS, strict=True)
    make: Callable[[Chance], ApiObject] = chance.choices(makers, weights)[0]
    return make(chance)


def by_identity(found: Iterable[ApiObject]) -> list[ApiObject]:
    """Without those that later ones replace."""
    return list({(type(object_), object_.key): object_ for object_ in found}.values())


def a_random_cluster(chance: Chance) -> list[ApiObject]:
    found = [
        make(chance) for make, number in KINDS for _ in range(chance.randint(number // 2, number))
    ]
    return by_identity(found)
