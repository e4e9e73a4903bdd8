"""By which policy a scheduler chooses nodes, and how it publishes that: on a Lease of its own.

`explain` reads it, so that a pod is judged by the rules of the scheduler that runs. The lease says
also whether the scheduler still runs. Copies do not compete for it: leadership is decided by
another lease, or by nothing at all where leader election is off.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey, wire_micro_time
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.decide.capacity.names import PURPOSE

KUBE_SCHEDULER = "default-scheduler"
"""The name in pods that name no scheduler."""
KUBE_SCHEDULER_LEASE = ObjectKey("kube-system", "kube-scheduler")
OUR_NAME = "plimsoll"
"""The scheduler name that `plimsoll scheduler` takes by default."""
SCHEDULER_PURPOSE = "scheduler"
SCHEDULER_NAME = "plimsoll.dev/scheduler-name"
POLICY = "plimsoll.dev/policy"
PROFILE = "plimsoll.dev/profile"
"""How the scheduler judges pods of this name, if otherwise than by default: a profile of a
KubeSchedulerConfiguration, as JSON."""
RECORD_NAMESPACES = "plimsoll.dev/record-namespaces"
"""Where the scheduler believes records of provisioners; names, separated by commas."""
SYSTEM_NAMESPACE = "kube-system"
"""Where schedulers tell about themselves, and tenants may not write."""
RENEWED_EVERY = timedelta(seconds=30)
LASTS = timedelta(seconds=90)
LONGEST_NAME = 63
NOT_IN_NAMES = re.compile(r"[^a-z0-9-]")


class Policy(StrEnum):
    COMPATIBLE = "compatible"
    """Exactly what kube-scheduler would do."""
    DEFAULT = "default"
    """The same, but where greedy matching fails volumes are assigned as well as they can be, the
    new volumes of a pod are judged together and beside those in flight, nodes near the data of a
    pod's volumes are preferred, classes and pods say where new volumes go, and nodes that were
    refused to a pod are remembered."""


POLICIES = {policy.value: policy for policy in Policy}


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What a scheduler says about itself."""

    scheduler_name: str
    policy: Policy
    holder: str
    """Which copy of the scheduler."""
    began_at: datetime
    now: datetime
    record_namespaces: frozenset[str] = frozenset()
    """Where it believes records of provisioners."""
    profile: str = ""
    """As JSON; empty: the default one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedScheduler:
    """What a lease says about a scheduler."""

    policy: Policy
    lease: Lease

    @property
    def profile(self) -> str:
        """As JSON; empty: the default one."""
        return self.lease.annotations.get(PROFILE, "")


def scheduler_of(pod: Pod) -> str:
    return pod.spec.scheduler_name or KUBE_SCHEDULER


def identity_lease_name(scheduler_name: str) -> str:
    """A scheduler's name may hold characters that names of objects may not: a hash keeps such
    names apart."""
    readable = NOT_IN_NAMES.sub("-", scheduler_name.lower())[:LONGEST_NAME].strip("-")
    if readable == scheduler_name:
        return f"plimsoll-scheduler-policy-{readable}"
    digest = sha256(scheduler_name.encode()).hexdigest()[:12]
    return f"plimsoll-scheduler-policy-{readable}-{digest}".replace("--", "-")


def identity_document(told: Announcement, namespace: str) -> Document:
    """The whole lease; as a merge patch it changes nothing else of one that exists."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "namespace": namespace,
            "name": identity_lease_name(told.scheduler_name),
            "labels": {PURPOSE: SCHEDULER_PURPOSE},
            "annotations": {
                SCHEDULER_NAME: told.scheduler_name,
                POLICY: told.policy.value,
                RECORD_NAMESPACES: ",".join(sorted(told.record_namespaces)),
                PROFILE: told.profile,
            },
        },
        "spec": {
            "holderIdentity": told.holder,
            "leaseDurationSeconds": round(LASTS.total_seconds()),
            "acquireTime": wire_micro_time(told.began_at),
            "renewTime": wire_micro_time(told.now),
        },
    }


def parse_namespaces(text: str) -> frozenset[str]:
    """Names that are separated by commas."""
    return frozenset(name for each in text.split(",") if (name := each.strip()))


def record_namespaces(leases: Iterable[Lease]) -> frozenset[str]:
    """Where records are believed, by what schedulers tell in the namespace of the system. A lease
    elsewhere tells nothing: a tenant may have written it."""
    told = (
        lease.annotations.get(RECORD_NAMESPACES, "")
        for lease in leases
        if lease.namespace == SYSTEM_NAMESPACE and is_about_scheduler(lease)
    )
    return frozenset({SYSTEM_NAMESPACE}).union(*map(parse_namespaces, told))


def is_about_scheduler(lease: Lease) -> bool:
    """Whether a scheduler, or who poses as one, tells about itself on it."""
    return lease.labels.get(PURPOSE) == SCHEDULER_PURPOSE


def holder_of(lease: Lease) -> tuple[str, str] | None:
    """The scheduler that the lease is about, and which copy of it runs. None: it is about none."""
    name = lease.annotations.get(SCHEDULER_NAME, "")
    if not is_about_scheduler(lease) or not name:
        return None
    return name, lease.spec.holder_identity or ""


def find_identities(scheduler_name: str, leases: Iterable[Lease]) -> list[PublishedScheduler]:
    """Leases of schedulers of this name, the one that was renewed last first. `leases` are those
    that are believed."""
    found = []
    for lease in leases:
        if is_about_scheduler(lease) and lease.annotations.get(SCHEDULER_NAME) == scheduler_name:
            policy = POLICIES.get(lease.annotations.get(POLICY, ""))
            if policy is not None and lease.spec.renew_time is not None:
                found.append(PublishedScheduler(policy=policy, lease=lease))
    return sorted(found, key=lambda each: str(each.lease.spec.renew_time), reverse=True)
