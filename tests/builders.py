"""Short objects for tests: `a_claim(gib=10)`. Every builder gives a valid object by default.

`document` turns one into the JSON that the API server takes.
"""

from collections.abc import Iterable, Mapping

import msgspec

from plimsoll.api.core import Node, NodeSpec, NodeStatus, Taint
from plimsoll.api.meta import ApiObject, Condition, ObjectKey, ObjectMeta, ObjectReference
from plimsoll.api.pods import ClaimVolume, Container, ContainerResources, Pod, PodSpec, PodVolume
from plimsoll.api.registry import Document
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
)
from plimsoll.api.typed import TYPES
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

DRIVER = "local.plimsoll.dev"
CLASS = "fast"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"

Labels = Mapping[str, str]


def meta(name: str, namespace: str = "", labels: Labels | None = None) -> ObjectMeta:
    uid = f"uid-{namespace}-{name}" if namespace else f"uid-{name}"
    return ObjectMeta(name=name, namespace=namespace, uid=uid, labels=labels or {})


def a_node(
    name: str = "node-1",
    *,
    labels: Labels | None = None,
    cpu: str = "8",
    memory: str = "32Gi",
    taints: Iterable[Taint] = (),
) -> Node:
    """Ready, and with its own name as hostname label."""
    room = {"cpu": cpu, "memory": memory, "pods": "110"}
    return Node(
        metadata=meta(name, labels={HOSTNAME: name} | dict(labels or {})),
        spec=NodeSpec(taints=tuple(taints)),
        status=NodeStatus(
            capacity=room, allocatable=room, conditions=(Condition(type="Ready", status="True"),)
        ),
    )


def a_pod(
    name: str = "web-0",
    *,
    namespace: str = "default",
    claims: Iterable[str] = (),
    requests: Mapping[str, str] | None = None,
    node: str = "",
    labels: Labels | None = None,
) -> Pod:
    """`claims` are names of claims in the pod's namespace; volumes are named after them."""
    container = Container(
        name="main", image="web:1", resources=ContainerResources(requests=requests or {})
    )
    volumes = tuple(
        PodVolume(name=claim, persistent_volume_claim=ClaimVolume(claim_name=claim))
        for claim in claims
    )
    return Pod(
        metadata=meta(name, namespace, labels),
        spec=PodSpec(containers=(container,), volumes=volumes, node_name=node),
    )


def a_claim(
    name: str = "data",
    *,
    namespace: str = "default",
    gib: int = 1,
    class_name: str | None = CLASS,
    volume: str = "",
    access_modes: Iterable[str] = ("ReadWriteOnce",),
) -> PersistentVolumeClaim:
    """`class_name` None asks for the default class, an empty one for no class."""
    return PersistentVolumeClaim(
        metadata=meta(name, namespace),
        spec=ClaimSpec(
            access_modes=tuple(access_modes),
            resources=Resources(requests={"storage": f"{gib}Gi"}),
            storage_class_name=class_name,
            volume_name=volume,
        ),
    )


def a_volume(
    name: str = "volume-1",
    *,
    gib: int = 1,
    class_name: str = CLASS,
    claim: PersistentVolumeClaim | ObjectKey | None = None,
    reachable_from: Labels | None = None,
    access_modes: Iterable[str] = ("ReadWriteOnce",),
) -> PersistentVolume:
    """`reachable_from` are the labels of the nodes that can use it; None: all nodes."""
    return PersistentVolume(
        metadata=meta(name),
        spec=VolumeSpec(
            capacity={"storage": f"{gib}Gi"},
            access_modes=tuple(access_modes),
            storage_class_name=class_name,
            persistent_volume_reclaim_policy="Delete",
            claim_ref=_reference(claim),
            node_affinity=None if reachable_from is None else _affinity(reachable_from),
            csi=CsiSource(driver=DRIVER, volume_handle=name),
        ),
        status=VolumeStatus(phase="Bound" if claim else "Available"),
    )


def _reference(claim: PersistentVolumeClaim | ObjectKey | None) -> ObjectReference | None:
    """A claim itself binds; a key alone keeps the volume for the next claim of that name."""
    if claim is None:
        return None
    key, uid = (claim, "") if isinstance(claim, ObjectKey) else (claim.key, claim.uid)
    return ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=key.namespace,
        name=key.name,
        uid=uid,
    )


def _affinity(labels: Labels) -> VolumeNodeAffinity:
    term = NodeTermSpec(
        match_expressions=tuple(
            NodeRequirementSpec(key=key, operator="In", values=(value,))
            for key, value in sorted(labels.items())
        )
    )
    return VolumeNodeAffinity(required=NodeSelectorSpec(node_selector_terms=(term,)))


def a_class(
    name: str = CLASS, *, provisioner: str = DRIVER, binding_mode: str = "WaitForFirstConsumer"
) -> StorageClass:
    return StorageClass(
        metadata=meta(name),
        provisioner=provisioner,
        reclaim_policy="Delete",
        volume_binding_mode=binding_mode,
    )


def a_driver(name: str = DRIVER) -> CSIDriver:
    """One that reports its capacity."""
    return CSIDriver(metadata=meta(name), spec=CSIDriverSpec(storage_capacity=True))


def a_csi_node(
    node: str = "node-1", *, driver: str = DRIVER, topology_keys: Iterable[str] = (ZONE,)
) -> CSINode:
    entry = CSINodeDriver(name=driver, node_id=node, topology_keys=tuple(topology_keys))
    return CSINode(metadata=meta(node), spec=CSINodeSpec(drivers=(entry,)))


def a_capacity(
    name: str = "capacity-1",
    *,
    segment: Labels,
    gib: int,
    class_name: str = CLASS,
    namespace: str = "plimsoll",
) -> CSIStorageCapacity:
    return CSIStorageCapacity(
        metadata=meta(name, namespace),
        storage_class_name=class_name,
        node_topology=LabelSelectorSpec(match_labels=segment),
        capacity=f"{gib}Gi",
    )


def document(object_: ApiObject) -> Document:
    group, version, kind = next(gvk for gvk, type_ in TYPES.items() if type_ is type(object_))
    api_version = f"{group}/{version}" if group else version
    fields: Document = msgspec.to_builtins(object_)
    return {"apiVersion": api_version, "kind": kind} | fields
