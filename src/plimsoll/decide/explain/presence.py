"""Whether the process that should act is running, as far as a lease can tell.

A lease that runs out proves that no process renews it. Without a lease nothing is known: many
provisioners run alone and hold none.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey
from plimsoll.decide.capacity.findings import overdue_by
from plimsoll.decide.capacity.freshness import find_freshness, publisher_of
from plimsoll.decide.capacity.names import TEMPLATES, leader_lease_name, managed_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    lease: ObjectKey
    last_at: datetime
    sentence: str


def find_stopped_provisioner(
    driver: str, node: str, leases: Iterable[Lease] | None, now: datetime
) -> Stopped | None:
    """None: it runs, or nothing tells. `node` is the one selected for the claim, or empty: where a
    provisioner runs on each node, only that of the node counts."""
    signs = [*_signs(driver, leases or ())]
    own = [lease for lease, id_ in signs if node and id_ == managed_by(node)]
    held = own or [lease for lease, _ in signs]
    stopped = [find_stopped(lease, now) for lease in held]
    found = [each for each in stopped if each is not None]
    if not found or len(found) < len(stopped):
        return None
    return max(found, key=lambda each: (each.last_at, each.lease))


def _signs(driver: str, leases: Iterable[Lease]) -> Iterator[tuple[Lease, str]]:
    """Leases that a provisioner of the driver renews, with the id of the publisher."""
    for lease in leases:
        publisher = publisher_of(lease)
        if publisher is not None:
            _, of, id_ = publisher
            if of == driver and id_ != TEMPLATES:
                yield lease, id_
        elif lease.name == leader_lease_name(driver) and lease.spec.renew_time is not None:
            yield lease, ""


def find_stopped(lease: Lease, now: datetime) -> Stopped | None:
    """None: it is renewed in time, or was never."""
    renewed_at = lease.spec.renew_time
    if renewed_at is None or not _ran_out(lease, now):
        return None
    ago = timedelta(seconds=int((now - renewed_at).total_seconds()))
    lasts = timedelta(seconds=lease.spec.lease_duration_seconds or 0)
    sentence = f"lease {lease.key} was last renewed {ago} ago, and lasts {lasts}"
    return Stopped(lease=lease.key, last_at=renewed_at, sentence=sentence)


def _ran_out(lease: Lease, now: datetime) -> bool:
    freshness = find_freshness(lease) if publisher_of(lease) else None
    if freshness is not None:
        return freshness.is_stale(now)
    return overdue_by(lease, now) is not None
