"""Events and leases, as processes leave them behind."""

from datetime import UTC, datetime, timedelta

from plimsoll.api.core import Event, Lease, LeaseSpec
from plimsoll.api.meta import ApiObject, ObjectMeta, ObjectReference
from plimsoll.decide.capacity.names import CAPACITY_PURPOSE, DRIVER_NAME, MANAGED_BY, PURPOSE
from plimsoll.decide.scheduling.policy import POLICY, SCHEDULER_NAME, SCHEDULER_PURPOSE, Policy
from tests.builders import DRIVER

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def an_event(
    about: ApiObject,
    reason: str,
    message: str = "told",
    *,
    type_: str = "Warning",
    age: timedelta = SECOND,
) -> Event:
    return Event(
        metadata=ObjectMeta(name=f"{about.name}.{reason}.{age}", namespace=about.namespace),
        involved_object=ObjectReference(name=about.name, uid=about.uid),
        reason=reason,
        message=message,
        type=type_,
        count=3,
        first_timestamp=NOW - age - MINUTE,
        last_timestamp=NOW - age,
    )


def a_lease(
    name: str,
    *,
    age: timedelta = SECOND,
    namespace: str = "kube-system",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
) -> Lease:
    """Lasts for 15 seconds."""
    metadata = ObjectMeta(
        name=name, namespace=namespace, labels=labels or {}, annotations=annotations or {}
    )
    spec = LeaseSpec(holder_identity="one", lease_duration_seconds=15, renew_time=NOW - age)
    return Lease(metadata=metadata, spec=spec)


def a_publisher(publisher: str = "external-provisioner", *, age: timedelta = SECOND) -> Lease:
    labels = {PURPOSE: CAPACITY_PURPOSE, DRIVER_NAME: DRIVER, MANAGED_BY: publisher}
    return a_lease(f"publisher-{publisher}", age=age, labels=labels)


def a_scheduler_identity(
    scheduler: str, policy: Policy = Policy.DEFAULT, *, age: timedelta = SECOND
) -> Lease:
    return a_lease(
        f"policy-{scheduler}",
        age=age,
        labels={PURPOSE: SCHEDULER_PURPOSE},
        annotations={SCHEDULER_NAME: scheduler, POLICY: policy.value},
    )
