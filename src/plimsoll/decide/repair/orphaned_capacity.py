"""Published capacity that no publisher keeps up to date, and that misleads the scheduler."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from plimsoll.api.core import Lease, Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.storage import CSIStorageCapacity, StorageClass
from plimsoll.decide.capacity.names import (
    CAPACITIES,
    DRIVER_NAME,
    MANAGED_BY,
    leader_lease_name,
    publisher_lease_name,
)
from plimsoll.decide.capacity.templates import is_template
from plimsoll.decide.plan import Delete
from plimsoll.decide.repair.repairs import Repair, RepairReason, RepairRule, regarding

EXPIRED_FOR = timedelta(minutes=10)
"""How long a lease must have run out: restarts and skewed clocks are not deaths."""


class Orphaned(StrEnum):
    """What is wrong with a capacity object; each ends a sentence about it."""

    OWNER_GONE = "its publisher's owner is gone"
    CLASS_GONE = "its storage class is gone"
    DRIVER_GONE = "its driver is installed nowhere any more"
    TOPOLOGY_GONE = "no node has its topology any more"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityEvidence:
    """What is known about the things that a capacity object depends on."""

    owner_is_gone: bool = False
    """It has owners, and the server has none of them."""
    storage_class: StorageClass | None = None
    drivers: Collection[str] = ()
    """Installed: they have a CSIDriver object or are listed by a node."""
    nodes: Collection[Node] = ()
    lease: Lease | None = None
    """The first that there is of `leases_of_publisher`."""
    now: datetime


def leases_of_publisher(capacity: CSIStorageCapacity) -> tuple[ObjectKey, ...]:
    """By which it can be seen whether it is alive, the best proof first.

    Plimsoll's publishers tell themselves when they last looked. Of others only the lease is known
    for which copies of them compete; those that run on each node hold none.
    """
    driver, publisher = capacity.labels.get(DRIVER_NAME, ""), capacity.labels.get(MANAGED_BY, "")
    if not driver:
        return ()
    names = (publisher_lease_name(driver, publisher), leader_lease_name(driver))
    return tuple(ObjectKey(capacity.namespace, name) for name in names)


def decide_orphaned_capacity(
    capacity: CSIStorageCapacity, evidence: CapacityEvidence
) -> Repair | None:
    """Delete the object.

    No data can be lost: the object is a report about free space, and a publisher that is alive
    after all writes it again. It is deleted only if it carries a publisher's mark, if something
    that it depends on is gone, and if the publisher is proven dead: every owner of the object is
    gone, or the publisher's lease exists and ran out long ago. Without such a proof, a report that
    looks outdated is left alone.
    """
    if capacity.is_being_deleted or MANAGED_BY not in capacity.labels:
        return None
    wrong = sorted(complaints(capacity, evidence))
    if not wrong or not (evidence.owner_is_gone or _has_expired(evidence)):
        return None
    delete = Delete(
        resource=CAPACITIES,
        key=capacity.key,
        uid=capacity.uid,
        version=capacity.metadata.resource_version,
    )
    return Repair(
        rule=RepairRule.ORPHANED_CAPACITY,
        reason=RepairReason.CAPACITY_ORPHANED,
        regarding=regarding(capacity, "storage.k8s.io/v1", "CSIStorageCapacity"),
        found="No publisher keeps this capacity up to date: " + " and ".join(wrong),
        remedy="it is deleted",
        writes=(delete,),
    )


def complaints(capacity: CSIStorageCapacity, evidence: CapacityEvidence) -> Iterable[Orphaned]:
    if evidence.owner_is_gone:
        yield Orphaned.OWNER_GONE
    if evidence.storage_class is None:
        yield Orphaned.CLASS_GONE
    driver = capacity.labels.get(DRIVER_NAME) or (
        evidence.storage_class.provisioner if evidence.storage_class else ""
    )
    if driver and driver not in evidence.drivers:
        yield Orphaned.DRIVER_GONE
    # Numbers for nodes that do not exist yet are about no node on purpose.
    if not is_template(capacity) and not _is_somewhere(capacity, evidence.nodes):
        yield Orphaned.TOPOLOGY_GONE


def _is_somewhere(capacity: CSIStorageCapacity, nodes: Iterable[Node]) -> bool:
    """Without a topology it is about no node; an unreadable one may be about any."""
    try:
        selector = LabelSelector.of(capacity.node_topology)
    except ValueError:
        return True
    return any(selector.matches(node.labels) for node in nodes)


def _has_expired(evidence: CapacityEvidence) -> bool:
    lease = evidence.lease
    if lease is None or lease.spec.renew_time is None:
        return False
    lasts = timedelta(seconds=lease.spec.lease_duration_seconds or 0)
    return evidence.now - lease.spec.renew_time > lasts + EXPIRED_FOR
