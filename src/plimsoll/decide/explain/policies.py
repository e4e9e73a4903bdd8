"""By which policy a pod is judged, and how that is known.

A scheduler of ours publishes its policy on a lease. A scheduler that publishes none is not ours, or
may not write leases: then its name decides, and the answer says that it was assumed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from plimsoll.api.core import Lease
from plimsoll.decide.explain.presence import find_stopped
from plimsoll.decide.scheduling.policy import (
    KUBE_SCHEDULER,
    KUBE_SCHEDULER_LEASE,
    OUR_NAME,
    SYSTEM_NAMESPACE,
    Policy,
    PublishedScheduler,
    find_identities,
)


class PolicySource(StrEnum):
    """How the policy is known."""

    ASKED = "Asked"
    """The user named it."""
    PUBLISHED = "Published"
    """The scheduler published it."""
    KUBE_SCHEDULER = "KubeScheduler"
    """kube-scheduler holds its lease, and schedules the pods that name no other."""
    ASSUMED = "Assumed"
    """No scheduler of that name published a policy; its name decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPolicy:
    policy: Policy
    source: PolicySource
    sentence: str
    profile: str = ""
    """As the scheduler has published it; empty: the default one, or none that is known."""


def choose_policy(
    scheduler: str, asked: Policy | None, leases: Iterable[Lease] | None, now: datetime
) -> ChosenPolicy:
    """`leases` are those that are believed (`Evidence.believed_leases`); None: they could not be
    read."""
    if asked is not None:
        return ChosenPolicy(policy=asked, source=PolicySource.ASKED, sentence="as --policy asks")
    known = [*leases] if leases is not None else []
    found = find_identities(scheduler, known)
    running = [each for each in found if find_stopped(each.lease, now) is None]
    # Elsewhere it may be of an earlier scheduler: those in the namespace of the system come first.
    of_system = [each for each in running if each.lease.namespace == SYSTEM_NAMESPACE]
    newest = next(iter((*of_system, *running, *found)), None)
    if not of_system and scheduler == KUBE_SCHEDULER and _has_kube_scheduler(known, now):
        return ChosenPolicy(
            policy=Policy.COMPATIBLE,
            source=PolicySource.KUBE_SCHEDULER,
            sentence=f"kube-scheduler holds lease {KUBE_SCHEDULER_LEASE}",
        )
    if newest is None:
        return _assumed(scheduler, has_leases=leases is not None)
    return _published(scheduler, newest, is_running=newest in running)


def _published(scheduler: str, identity: PublishedScheduler, *, is_running: bool) -> ChosenPolicy:
    with_profile = " with a profile" if identity.profile else ""
    sentence = f"published{with_profile} by scheduler {scheduler} on lease {identity.lease.key}"
    if not is_running:
        sentence += ", which ran out"
    return ChosenPolicy(
        policy=identity.policy,
        source=PolicySource.PUBLISHED,
        sentence=sentence,
        profile=identity.profile,
    )


def _has_kube_scheduler(leases: Iterable[Lease], now: datetime) -> bool:
    held = [lease for lease in leases if lease.key == KUBE_SCHEDULER_LEASE]
    return any(lease.spec.renew_time and find_stopped(lease, now) is None for lease in held)


def _assumed(scheduler: str, *, has_leases: bool) -> ChosenPolicy:
    policy = Policy.DEFAULT if scheduler == OUR_NAME else Policy.COMPATIBLE
    why = "publishes no policy" if has_leases else "may publish its policy, but leases are unread"
    return ChosenPolicy(
        policy=policy,
        source=PolicySource.ASSUMED,
        sentence=f"assumed from its name: scheduler {scheduler} {why}",
    )
