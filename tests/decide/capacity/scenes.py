"""A small cluster whose published capacity is looked at: one driver, two nodes in two zones."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from plimsoll.api.core import Lease, LeaseSpec
from plimsoll.api.meta import ObjectMeta, OwnerReference
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.decide.capacity.names import DRIVER_NAME, MANAGED_BY, PURPOSE
from plimsoll.decide.capacity.overview import ObservedCapacity, Overview, overview_of
from plimsoll.decide.capacity.pools import POOLS, PublishedPool, pools_text
from plimsoll.decide.capacity.volume_sizes import Cost
from tests.builders import DRIVER, ZONE, a_capacity, a_class, a_csi_node, a_driver, a_node

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
REGION = "topology.kubernetes.io/region"
HOST = "example.com/host"
MARKS = {DRIVER_NAME: DRIVER, MANAGED_BY: "external-provisioner"}
NODES = tuple(
    a_node(name, labels={REGION: "r", ZONE: zone, HOST: name})
    for name, zone in (("n1", "a"), ("n2", "b"))
)


def published(
    name: str = "one",
    segment: dict[str, str] | None = None,
    *,
    gib: int = 5,
    largest: str | None = None,
    class_name: str = "fast",
    owners: Iterable[str] = (),
) -> CSIStorageCapacity:
    made = a_capacity(name, segment=segment or {ZONE: "a"}, gib=gib, class_name=class_name)
    references = tuple(OwnerReference(uid=uid) for uid in owners)
    metadata = msgspec.structs.replace(made.metadata, labels=MARKS, owner_references=references)
    return msgspec.structs.replace(made, metadata=metadata, maximum_volume_size=largest)


def in_pool(
    capacity: CSIStorageCapacity, cost: Cost, name: str = "disks", **free: int
) -> CSIStorageCapacity:
    """`free` are the extents."""
    text = pools_text([PublishedPool(name=name, free=free, cost=cost)])
    metadata = msgspec.structs.replace(capacity.metadata, annotations={POOLS: str(text)})
    return msgspec.structs.replace(capacity, metadata=metadata)


def a_lease(
    name: str, minutes_ago: int, labels: dict[str, str] | None = None, **annotations: str
) -> Lease:
    return Lease(
        metadata=ObjectMeta(
            name=name,
            namespace="plimsoll",
            labels=labels or {},
            annotations={f"plimsoll.dev/{key}": text for key, text in annotations.items()},
        ),
        spec=LeaseSpec(
            holder_identity="provisioner-0",
            renew_time=NOW - timedelta(minutes=minutes_ago),
            lease_duration_seconds=120,
        ),
    )


def publisher_lease(minutes_ago: int, **annotations: str) -> Lease:
    labels = MARKS | {PURPOSE: "capacity"}
    return a_lease("publisher", minutes_ago, labels, **annotations)


def observed(*capacities: CSIStorageCapacity) -> ObservedCapacity:
    return ObservedCapacity(
        capacities=capacities,
        classes=[a_class()],
        nodes=NODES,
        csi_nodes=[a_csi_node("n1"), a_csi_node("n2")],
        drivers=[a_driver()],
        leases=(),
        now=NOW,
    )


def seen(*capacities: CSIStorageCapacity) -> Overview:
    return overview_of(observed(*capacities))
