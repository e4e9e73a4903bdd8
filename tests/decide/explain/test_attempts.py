"""What the scheduler said itself, and that it does not run."""

from collections.abc import Sequence

import msgspec
import pytest

from plimsoll.api.core import Lease
from plimsoll.decide.explain.attempts import attempt_troubles
from plimsoll.decide.explain.evidence import Evidence
from plimsoll.decide.scheduling.reasons import Reason
from tests.builders import a_pod
from tests.decide.explain.witnesses import (
    MINUTE,
    NOW,
    SECOND,
    a_lease,
    a_scheduler_identity,
    an_event,
)

POD = a_pod()
OLD = 9 * MINUTE
OURS = "default-scheduler"


def of_a_tenant(lease: Lease) -> Lease:
    metadata = msgspec.structs.replace(lease.metadata, namespace="tenant")
    return msgspec.structs.replace(lease, metadata=metadata)


def test_the_last_word_of_a_scheduler_is_passed_on_where_some_node_would_do() -> None:
    events = (
        an_event(POD, "FailedScheduling", "older", age=MINUTE),
        an_event(POD, "FailedScheduling", "newer", age=SECOND),
    )
    evidence = Evidence(now=NOW, events=events, leases=())
    (trouble,) = attempt_troubles(POD, evidence, has_candidate=True)
    assert (trouble.reason, trouble.sentence) == (
        Reason.SCHEDULING_FAILED,
        "the scheduler said: newer",
    )
    assert [*attempt_troubles(POD, evidence, has_candidate=False)] == []


@pytest.mark.parametrize(
    ("leases", "is_stopped"),
    [
        pytest.param((), False, id="nothing-is-known"),
        pytest.param((a_scheduler_identity(OURS),), False, id="ours-runs"),
        pytest.param((a_scheduler_identity(OURS, age=OLD),), True, id="ours-stopped"),
        pytest.param((a_lease("kube-scheduler", age=OLD),), True, id="theirs-stopped"),
        pytest.param(
            (a_scheduler_identity(OURS, age=OLD), a_lease("kube-scheduler")),
            False,
            id="theirs-took-over",
        ),
        pytest.param((a_scheduler_identity("other", age=OLD),), False, id="another-name"),
        pytest.param(
            (a_scheduler_identity(OURS, age=OLD), of_a_tenant(a_scheduler_identity(OURS))),
            True,
            id="a-tenant-says-that-it-runs",
        ),
    ],
)
def test_a_scheduler_has_stopped_when_all_leases_of_its_name_ran_out(
    leases: Sequence[Lease], *, is_stopped: bool
) -> None:
    evidence = Evidence(now=NOW, events=(), leases=tuple(leases))
    found = [trouble.reason for trouble in attempt_troubles(POD, evidence, has_candidate=False)]
    assert found == ([Reason.SCHEDULER_STOPPED] if is_stopped else [])


def test_the_lease_of_kube_scheduler_says_nothing_about_other_schedulers() -> None:
    spec = msgspec.structs.replace(POD.spec, scheduler_name="other")
    pod = msgspec.structs.replace(POD, spec=spec)
    evidence = Evidence(now=NOW, events=(), leases=(a_lease("kube-scheduler", age=OLD),))
    assert [*attempt_troubles(pod, evidence, has_candidate=False)] == []
