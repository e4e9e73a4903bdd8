"""One fault each, and the code that it has to be told by."""

from collections.abc import Callable

import msgspec

from plimsoll.api.core import Taint
from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.topology import TopologyLabelSpec, TopologyTermSpec
from plimsoll.api.storage import CSINode, StorageClass, VolumeLimit
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.scheduling.reasons import Reason
from tests.builders import (
    HOSTNAME,
    ZONE,
    a_capacity,
    a_claim,
    a_class,
    a_csi_node,
    a_driver,
    a_node,
    a_pod,
    a_volume,
)
from tests.decide.scheduling.builders import (
    a_local_class,
    a_pod_with_ephemeral_volume,
    annotated,
    bound,
    labelled,
)

POD = a_pod(claims=["data"])
CAPACITY_CLASS = (a_class(), a_driver(), a_csi_node(), a_claim(gib=10))

Scene = tuple[Pod, tuple[ApiObject, ...]]


def _asking(**requests: str) -> Pod:
    return a_pod(requests=requests)


def _selecting() -> Pod:
    spec = msgspec.structs.replace(a_pod().spec, node_selector={"disk": "ssd"})
    return msgspec.structs.replace(a_pod(), spec=spec)


def _only_in(zone: str) -> StorageClass:
    label = TopologyLabelSpec(key=ZONE, values=(zone,))
    term = TopologyTermSpec(match_label_expressions=(label,))
    return msgspec.structs.replace(a_class(), allowed_topologies=(term,))


def _phase(claim: PersistentVolumeClaim, phase: str) -> PersistentVolumeClaim:
    status = msgspec.structs.replace(claim.status, phase=phase)
    return msgspec.structs.replace(claim, status=status)


def _deleting(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    from datetime import UTC, datetime  # noqa: PLC0415

    metadata = msgspec.structs.replace(
        claim.metadata, deletion_timestamp=datetime(2024, 1, 1, tzinfo=UTC)
    )
    return msgspec.structs.replace(claim, metadata=metadata)


def _limited(number: int) -> CSINode:
    node = a_csi_node()
    (driver,) = node.spec.drivers or ()
    limited = msgspec.structs.replace(driver, allocatable=VolumeLimit(count=number))
    return msgspec.structs.replace(
        node, spec=msgspec.structs.replace(node.spec, drivers=(limited,))
    )


def _zoned() -> tuple[ApiObject, ...]:
    volume = labelled(a_volume(), {ZONE: "b"})
    return (a_node(labels={ZONE: "a"}), volume, bound(a_claim(), "volume-1"), a_class())


def _full() -> ApiObject:
    node = a_node()
    room = {**node.status.allocatable, "pods": "0"}
    return msgspec.structs.replace(
        node, status=msgspec.structs.replace(node.status, allocatable=room)
    )


def _closed() -> ApiObject:
    node = a_node()
    return msgspec.structs.replace(
        node, spec=msgspec.structs.replace(node.spec, unschedulable=True)
    )


FAULTS: dict[Reason, Callable[[], Scene]] = {
    Reason.NO_CAPACITY_PUBLISHED: lambda: (
        POD,
        (a_node(), *CAPACITY_CLASS, a_capacity(segment={HOSTNAME: "other"}, gib=20)),
    ),
    Reason.CAPACITY_ZERO: lambda: (
        POD,
        (a_node(), *CAPACITY_CLASS, a_capacity(segment={HOSTNAME: "node-1"}, gib=0)),
    ),
    Reason.CAPACITY_TOO_SMALL: lambda: (
        POD,
        (a_node(), *CAPACITY_CLASS, a_capacity(segment={HOSTNAME: "node-1"}, gib=5)),
    ),
    Reason.DRIVER_NOT_ON_NODE: lambda: (
        POD,
        (a_node(), a_class(), a_driver(), a_csi_node(driver="other.example.com"), a_claim()),
    ),
    Reason.TOPOLOGY_KEY_MISSING: lambda: (POD, (a_node(), _only_in("a"), a_claim())),
    Reason.OUTSIDE_ALLOWED_TOPOLOGIES: lambda: (
        POD,
        (a_node(labels={ZONE: "b"}), _only_in("a"), a_claim()),
    ),
    Reason.CLASS_NOT_FOUND: lambda: (POD, (a_node(), a_claim(class_name="missing"))),
    Reason.NO_MATCHING_VOLUME: lambda: (
        POD,
        (a_node(), a_local_class(), a_claim(gib=10), a_volume(gib=5)),
    ),
    Reason.VOLUME_AFFINITY_CONFLICT: lambda: (
        POD,
        (a_node(), a_volume(reachable_from={HOSTNAME: "x"}), bound(a_claim(), "volume-1")),
    ),
    Reason.VOLUME_ZONE_CONFLICT: lambda: (POD, _zoned()),
    Reason.VOLUME_NOT_FOUND: lambda: (POD, (a_node(), a_class(), bound(a_claim(), "gone"))),
    Reason.ATTACH_LIMIT_REACHED: lambda: (
        POD,
        (a_node(), _limited(0), a_volume(), a_class(), bound(a_claim(), "volume-1")),
    ),
    Reason.CLAIM_NOT_FOUND: lambda: (POD, (a_node(),)),
    Reason.CLAIM_LOST: lambda: (
        POD,
        (a_node(), a_class(), _phase(bound(a_claim(), "gone"), "Lost")),
    ),
    Reason.CLAIM_DELETING: lambda: (POD, (a_node(), a_class(), _deleting(a_claim()))),
    Reason.CLAIM_NOT_OWNED: lambda: (
        a_pod_with_ephemeral_volume(),
        (a_node(), a_class(), a_claim("web-0-scratch")),
    ),
    Reason.UNBOUND_IMMEDIATE_CLAIM: lambda: (
        POD,
        (a_node(), a_class(binding_mode="Immediate"), a_claim()),
    ),
    Reason.SELECTED_ELSEWHERE: lambda: (
        POD,
        (a_node(), a_class(), annotated(a_claim(), {SELECTED_NODE: "node-9"})),
    ),
    Reason.READ_WRITE_ONCE_POD_CONFLICT: lambda: (
        POD,
        (
            a_node(),
            a_class(),
            a_volume(),
            bound(a_claim(access_modes=["ReadWriteOncePod"]), "volume-1"),
            a_pod("other", claims=["data"], node="node-1"),
        ),
    ),
    Reason.INSUFFICIENT_RESOURCE: lambda: (_asking(cpu="9"), (a_node(cpu="8"),)),
    Reason.TOO_MANY_PODS: lambda: (a_pod(), (_full(),)),
    Reason.UNTOLERATED_TAINT: lambda: (
        a_pod(),
        (a_node(taints=[Taint(key="dedicated", effect="NoSchedule")]),),
    ),
    Reason.NODE_UNSCHEDULABLE: lambda: (a_pod(), (_closed(),)),
    Reason.NODE_AFFINITY_MISMATCH: lambda: (_selecting(), (a_node(),)),
}
