"""All capacity that is published in a cluster, with what is known about each object.

Made once from lists of objects, for people to look at; nothing here is kept up to date.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from plimsoll.api.core import Lease, Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass
from plimsoll.decide.capacity.freshness import (
    Freshness,
    PublisherKey,
    find_freshness,
    publisher_of,
)
from plimsoll.decide.capacity.names import DRIVER_NAME, MANAGED_BY, PUBLISHER, leader_lease_name
from plimsoll.decide.capacity.pools import PublishedPool, find_pools
from plimsoll.decide.capacity.reach import NO_NODES, Names, Reach
from plimsoll.decide.capacity.segments import Segment, find_segment
from plimsoll.decide.capacity.templates import is_template
from plimsoll.decide.capacity.volume_sizes import Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCapacity:
    """The objects of a cluster from which an overview is made."""

    capacities: Collection[CSIStorageCapacity]
    classes: Collection[StorageClass]
    nodes: Collection[Node]
    csi_nodes: Collection[CSINode]
    drivers: Collection[CSIDriver]
    leases: Collection[Lease]
    changed_at: Mapping[ObjectKey, datetime] = field(default_factory=dict)
    """When a capacity object was last written, where that is known."""
    missing_owners: Collection[str] = ()
    """Uids of owners that do not exist."""
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityEntry:
    capacity: CSIStorageCapacity
    driver: str
    storage_class: StorageClass | None
    segment: Segment | None
    """None: its topology is not a plain list of labels."""
    nodes: Names | None
    """Those that it is about; None: its topology makes no sense."""
    changed_at: datetime | None
    freshness: Freshness | None
    """What the lease of its publisher says; None: there is none."""
    leader: Lease | None
    """The lease for which copies of its publisher compete, where they do."""
    is_owned: bool
    """False: everything that it would go with is gone already."""

    @property
    def publisher(self) -> str:
        """Empty: it was made by hand."""
        return self.capacity.labels.get(MANAGED_BY, "")

    @property
    def is_template(self) -> bool:
        return is_template(self.capacity)


@dataclass(frozen=True, slots=True)
class Overview:
    entries: tuple[CapacityEntry, ...]
    """Sorted by class, segment and name."""
    installed: frozenset[str]
    """Drivers that have an object or are listed by a node."""
    reach: Reach
    now: datetime


def overview_of(observed: ObservedCapacity) -> Overview:
    reach = Reach(observed.nodes)
    leases = {lease.key: lease for lease in observed.leases}
    fresh = dict(_freshness_by_publisher(observed.leases))
    classes = {each.name: each for each in observed.classes}
    entries = []
    for capacity in observed.capacities:
        storage_class = classes.get(capacity.storage_class_name)
        driver = capacity.labels.get(DRIVER_NAME, "")
        driver = driver or (storage_class.provisioner if storage_class else "")
        publisher = (capacity.namespace, driver, capacity.labels.get(MANAGED_BY, ""))
        owners = capacity.metadata.owner_references
        entry = CapacityEntry(
            capacity=capacity,
            driver=driver,
            storage_class=storage_class,
            segment=find_segment(capacity.node_topology),
            nodes=_nodes(capacity, reach),
            changed_at=observed.changed_at.get(capacity.key, capacity.metadata.creation_timestamp),
            freshness=fresh.get(publisher),
            leader=_leader(publisher, leases),
            is_owned=not owners or any(o.uid not in observed.missing_owners for o in owners),
        )
        entries.append(entry)
    return Overview(tuple(sorted(entries, key=_order)), _installed(observed), reach, observed.now)


def _order(entry: CapacityEntry) -> tuple[str, Segment, ObjectKey]:
    return entry.capacity.storage_class_name, entry.segment or (), entry.capacity.key


def _nodes(capacity: CSIStorageCapacity, reach: Reach) -> Names | None:
    try:
        return reach.nodes_of(capacity)
    except ValueError:
        return None


def _freshness_by_publisher(leases: Iterable[Lease]) -> Iterable[tuple[PublisherKey, Freshness]]:
    for lease in leases:
        publisher, freshness = publisher_of(lease), find_freshness(lease)
        if publisher is not None and freshness is not None:
            yield publisher, freshness


def _leader(publisher: PublisherKey, leases: Mapping[ObjectKey, Lease]) -> Lease | None:
    namespace, driver, id_ = publisher
    if id_ != PUBLISHER or not driver:
        return None
    return leases.get(ObjectKey(namespace, leader_lease_name(driver)))


def _installed(observed: ObservedCapacity) -> frozenset[str]:
    listed = (entry.name for node in observed.csi_nodes for entry in node.spec.drivers or ())
    return frozenset([*(driver.name for driver in observed.drivers), *listed])


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEntry:
    """Bytes that one or several capacity objects are about."""

    driver: str
    name: str
    free: Mapping[str, int]
    """By extent: what all of the objects say is free."""
    costs: Mapping[str, Cost]
    """By class."""
    objects: tuple[ObjectKey, ...]

    @property
    def free_bytes(self) -> int:
        return sum(self.free.values())


def pools_of(overview: Overview) -> list[PoolEntry]:
    """The pools that the objects name, sorted by driver and name."""
    found: dict[tuple[str, str], list[tuple[CapacityEntry, PublishedPool]]] = {}
    for entry in overview.entries:
        for pool in find_pools(entry.capacity.annotations) or ():
            found.setdefault((entry.driver, pool.name), []).append((entry, pool))
    return [_pool(driver, told) for (driver, _), told in sorted(found.items(), key=_by_name)]


def _by_name(item: tuple[tuple[str, str], object]) -> tuple[str, str]:
    return item[0]


def _pool(driver: str, told: Sequence[tuple[CapacityEntry, PublishedPool]]) -> PoolEntry:
    pools = [pool for _, pool in told]
    extents = set(pools[0].free).intersection(*(pool.free for pool in pools))
    return PoolEntry(
        driver=driver,
        name=pools[0].name,
        free={name: min(pool.free[name] for pool in pools) for name in sorted(extents)},
        costs={entry.capacity.storage_class_name: pool.cost for entry, pool in told},
        objects=tuple(sorted(entry.capacity.key for entry, _ in told)),
    )


def narrowed(overview: Overview, *, driver: str = "", storage_class: str = "") -> Overview:
    """Only what is about the driver and the class; empty: about any."""
    kept = tuple(
        entry
        for entry in overview.entries
        if driver in ("", entry.driver) and storage_class in ("", entry.capacity.storage_class_name)
    )
    return Overview(kept, overview.installed, overview.reach, overview.now)


def reached(entries: Iterable[CapacityEntry]) -> Names:
    return NO_NODES.union(*(entry.nodes or NO_NODES for entry in entries))
