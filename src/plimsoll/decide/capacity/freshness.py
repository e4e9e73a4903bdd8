"""When a publisher last looked, told by a Lease: without it, a number that does not change looks
like one that no publisher keeps up to date.

The lease is in the namespace of the capacity objects, one for each publisher, and carries the same
labels as they do. `renewTime` is when everything was last looked at, `leaseDurationSeconds` how
long that is to be believed. Publishers do not compete for it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey, wire_micro_time
from plimsoll.api.registry import Document
from plimsoll.decide.capacity.names import (
    CAPACITY_PURPOSE,
    DRIVER_NAME,
    LEASES,
    MANAGED_BY,
    OLDEST_REPORT,
    PURPOSE,
    UNANSWERED,
    publisher_lease_name,
)
from plimsoll.decide.capacity.reports import CapacityReason, CapacitySettings
from plimsoll.decide.plan import Create, Patch, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherHeartbeat:
    """What a publisher writes into its lease when it has asked for all capacity."""

    holder: str
    """The copy that looked: the name of a pod, for one."""
    began_at: datetime
    """When this copy of the publisher was started."""
    looked_at: datetime
    lasts: timedelta
    """Until it is certain that the publisher does not look any more: two polls, say."""
    oldest_report_at: datetime | None = None
    unanswered: int = 0


def publisher_lease(settings: CapacitySettings) -> ObjectKey:
    return ObjectKey(settings.namespace, publisher_lease_name(settings.driver, settings.publisher))


def decide_lease(
    existing: Lease | None, heartbeat: PublisherHeartbeat, settings: CapacitySettings
) -> Plan:
    key, annotations = publisher_lease(settings), _annotations(heartbeat)
    labels = settings.labels | {PURPOSE: CAPACITY_PURPOSE}
    if existing is not None:
        metadata: Document = {"labels": labels, "annotations": annotations}
        patch: Document = {"metadata": metadata, "spec": _spec(heartbeat)}
        write = Patch(resource=LEASES, key=key, patch=patch, uid=existing.uid)
        return Plan(reason=CapacityReason.LOOKED, writes=(write,))
    told = {name: value for name, value in annotations.items() if value is not None}
    metadata = {
        "namespace": key.namespace,
        "name": key.name,
        "labels": labels,
        "annotations": told,
    }
    document: Document = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": _spec(heartbeat),
    }
    return Plan(reason=CapacityReason.LOOKED, writes=(Create(resource=LEASES, document=document),))


def _annotations(heartbeat: PublisherHeartbeat) -> dict[str, str | None]:
    oldest = heartbeat.oldest_report_at
    return {
        OLDEST_REPORT: None if oldest is None else wire_micro_time(oldest),
        UNANSWERED: str(heartbeat.unanswered),
    }


def _spec(heartbeat: PublisherHeartbeat) -> Document:
    return {
        "holderIdentity": heartbeat.holder,
        "leaseDurationSeconds": max(1, round(heartbeat.lasts.total_seconds())),
        "acquireTime": wire_micro_time(heartbeat.began_at),
        "renewTime": wire_micro_time(heartbeat.looked_at),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """What a lease says about the numbers of its publisher."""

    holder: str
    looked_at: datetime
    lasts: timedelta
    oldest_report_at: datetime | None
    unanswered: int

    def is_stale(self, now: datetime) -> bool:
        return now - self.looked_at > self.lasts


PublisherKey = tuple[str, str, str]
"""Namespace, driver, id."""


def publisher_of(lease: Lease) -> PublisherKey | None:
    """None: it is a lease for something else."""
    if lease.labels.get(PURPOSE) != CAPACITY_PURPOSE:
        return None
    return lease.namespace, lease.labels.get(DRIVER_NAME, ""), lease.labels.get(MANAGED_BY, "")


def find_freshness(lease: Lease) -> Freshness | None:
    """None: the publisher has not looked yet."""
    if lease.spec.renew_time is None:
        return None
    return Freshness(
        holder=lease.spec.holder_identity or "",
        looked_at=lease.spec.renew_time,
        lasts=timedelta(seconds=lease.spec.lease_duration_seconds or 0),
        oldest_report_at=_time(lease.annotations.get(OLDEST_REPORT, "")),
        unanswered=_number(lease.annotations.get(UNANSWERED, "")),
    )


def _time(text: str) -> datetime | None:
    """Any user may write annotations: what makes no sense is ignored."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
