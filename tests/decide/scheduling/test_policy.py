"""What a scheduler says of itself can be read back."""

import dataclasses

from plimsoll.api.core import Lease
from plimsoll.api.typed import from_document
from plimsoll.decide.scheduling.policy import (
    Announcement,
    Policy,
    find_identities,
    identity_document,
    identity_lease_name,
    parse_namespaces,
    record_namespaces,
    scheduler_of,
)
from tests.builders import a_pod
from tests.decide.explain.witnesses import MINUTE, NOW, a_lease, a_scheduler_identity

TOLD = Announcement(
    scheduler_name="ours",
    policy=Policy.COMPATIBLE,
    holder="copy-1",
    began_at=NOW - MINUTE,
    now=NOW,
)


def test_what_is_announced_is_found_again() -> None:
    lease = from_document(Lease, identity_document(TOLD, "kube-system"))
    (found,) = find_identities("ours", [lease])
    assert found.policy is Policy.COMPATIBLE
    assert (lease.spec.renew_time, lease.spec.acquire_time) == (NOW, NOW - MINUTE)
    assert find_identities("theirs", [lease]) == []


def test_records_are_believed_where_a_scheduler_of_the_system_believes_them() -> None:
    told = dataclasses.replace(TOLD, record_namespaces=frozenset({"csi", "storage"}))
    honest, forged = (
        from_document(Lease, identity_document(told, namespace))
        for namespace in ("kube-system", "tenant")
    )
    assert record_namespaces([honest]) == {"kube-system", "csi", "storage"}
    assert record_namespaces([forged]) == record_namespaces([]) == {"kube-system"}
    assert parse_namespaces(" a, b,,") == {"a", "b"}


def test_the_lease_that_was_renewed_last_comes_first() -> None:
    older = a_scheduler_identity("ours", Policy.COMPATIBLE, age=MINUTE)
    newer = a_scheduler_identity("ours", Policy.DEFAULT)
    assert [each.lease for each in find_identities("ours", [older, newer])] == [newer, older]


def test_leases_of_others_and_unknown_policies_do_not_count() -> None:
    unknown = a_lease(
        "unknown",
        labels={"plimsoll.dev/lease": "scheduler"},
        annotations={"plimsoll.dev/scheduler-name": "ours", "plimsoll.dev/policy": "greedy"},
    )
    assert find_identities("ours", [unknown, a_lease("other")]) == []


def test_names_that_differ_only_in_what_object_names_may_not_hold_have_two_leases() -> None:
    names = {identity_lease_name(name) for name in ("My_Scheduler", "my-scheduler", "my.scheduler")}
    assert len(names) == 3


def test_a_pod_that_names_no_scheduler_is_for_the_default_one() -> None:
    assert scheduler_of(a_pod()) == "default-scheduler"
