"""Events of both generations of clients are understood, and records of tenants not believed."""

from plimsoll.api.core import Event, EventSeries
from plimsoll.api.meta import ObjectMeta, ObjectReference
from plimsoll.decide.capacity.names import PURPOSE
from plimsoll.decide.explain.evidence import Evidence, count_of, first_seen_at, last_seen_at
from plimsoll.decide.records import RECORD
from plimsoll.decide.scheduling.policy import RECORD_NAMESPACES, SCHEDULER_PURPOSE
from tests.builders import a_claim
from tests.decide.explain.witnesses import (
    MINUTE,
    NOW,
    SECOND,
    a_lease,
    a_scheduler_identity,
    an_event,
)

CLAIM = a_claim()


def test_an_event_of_the_older_kind_has_a_count_and_two_times() -> None:
    event = an_event(CLAIM, "ProvisioningFailed", age=MINUTE)
    assert count_of(event) == 3
    assert (first_seen_at(event), last_seen_at(event)) == (NOW - 2 * MINUTE, NOW - MINUTE)


def test_an_event_of_the_newer_kind_has_a_series() -> None:
    series = EventSeries(count=9, last_observed_time=NOW - SECOND)
    event = Event(event_time=NOW - 5 * MINUTE, series=series)
    assert count_of(event) == 9
    assert (first_seen_at(event), last_seen_at(event)) == (NOW - 5 * MINUTE, NOW - SECOND)


def test_an_event_without_times_is_as_old_as_its_object() -> None:
    event = Event(metadata=ObjectMeta(creation_timestamp=NOW))
    assert (count_of(event), first_seen_at(event), last_seen_at(event)) == (1, NOW, NOW)


def test_events_about_an_object_come_newest_first() -> None:
    older = an_event(CLAIM, "ProvisioningFailed", age=MINUTE)
    newer = an_event(CLAIM, "ProvisioningFailed", age=SECOND)
    other = Event(involved_object=ObjectReference(uid="other"), reason="ProvisioningFailed")
    evidence = Evidence(now=NOW, events=(older, other, newer))
    assert [*evidence.events_about(CLAIM, "ProvisioningFailed")] == [newer, older]
    assert [*evidence.events_about(CLAIM, "Provisioning")] == []


def test_records_are_believed_where_the_scheduler_believes_them_or_where_asked() -> None:
    record = {RECORD: "intent"}
    leases = (
        a_lease("one", namespace="csi", labels=record),
        a_lease("two", namespace="tenant", labels=record),
        a_lease(
            "policy",
            labels={PURPOSE: SCHEDULER_PURPOSE},
            annotations={RECORD_NAMESPACES: "csi"},
        ),
    )
    evidence = Evidence(now=NOW, leases=leases)
    assert evidence.record_namespaces == {"kube-system", "csi"}
    assert evidence.unbelieved_namespaces == {"tenant"}
    asked = Evidence(now=NOW, leases=leases, asked_namespaces=frozenset({"tenant"}))
    assert asked.record_namespaces == {"tenant"}
    assert Evidence(now=NOW).unbelieved_namespaces == frozenset()


def test_schedulers_are_believed_where_records_are_and_in_the_system() -> None:
    honest = a_scheduler_identity("ours")
    asked, forged = (
        a_lease(f"policy-{place}", namespace=place, labels={**honest.labels})
        for place in ("own", "tenant")
    )
    other = a_lease("anything", namespace="tenant")
    evidence = Evidence(
        now=NOW, leases=(honest, asked, forged, other), asked_namespaces=frozenset({"own"})
    )
    assert evidence.believed_leases == (honest, asked, other)
    assert evidence.unbelieved_namespaces == {"tenant"}
    assert Evidence(now=NOW).believed_leases is None
