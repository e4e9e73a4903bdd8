"""The pods of a workload, and why some are missing."""

from collections.abc import Sequence

import msgspec
import pytest

from plimsoll.api.core import Event
from plimsoll.api.meta import Condition, OwnerReference
from plimsoll.api.pods import Pod
from plimsoll.api.workloads import (
    Deployment,
    Job,
    JobSpec,
    JobStatus,
    ReplicaSpec,
    ReplicaStatus,
    RolloutCondition,
    StatefulSet,
    StatefulSetSpec,
)
from plimsoll.decide.explain.evidence import Evidence
from plimsoll.decide.explain.pod import PodExplanation, explain_pod
from plimsoll.decide.explain.workload import (
    Workload,
    WorkloadExplanation,
    explain_workload,
    pods_of,
)
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel
from tests.builders import a_claim, a_class, a_node, a_pod, meta
from tests.decide.explain.witnesses import NOW, an_event
from tests.decide.scheduling.builders import a_local_class

ORDERED = StatefulSet(metadata=meta("db", "default"), spec=StatefulSetSpec(replicas=3))
PARALLEL = msgspec.structs.replace(
    ORDERED, spec=msgspec.structs.replace(ORDERED.spec, pod_management_policy="Parallel")
)
EMPTY = StatefulSet(metadata=meta("db", "default"), spec=StatefulSetSpec(replicas=0))
KERNEL = Kernel(
    Columns.of(
        [a_node(), a_local_class(), a_claim("data-db-0"), a_claim("data-db-1"), a_class("x")]
    )
)


def judged(*names: str) -> list[PodExplanation]:
    return [explain_pod(a_pod(name, claims=[f"data-{name}"]), KERNEL) for name in names]


def explained(
    workload: Workload, pods: Sequence[PodExplanation] = (), *events: Event
) -> WorkloadExplanation:
    return explain_workload(workload, pods, (), Evidence(now=NOW, events=events, leases=()))


def test_answers_that_differ_only_in_names_are_told_once() -> None:
    (group,) = explained(PARALLEL, judged("db-0", "db-1")).groups
    assert group.pods == ("db-0", "db-1")


def test_different_answers_are_told_apart_those_with_something_wrong_first() -> None:
    fine = explain_pod(a_pod("db-2"), KERNEL)
    groups = explained(PARALLEL, [fine, *judged("db-0", "db-1")]).groups
    assert [group.pods for group in groups] == [("db-0", "db-1"), ("db-2",)]


def test_a_set_that_makes_one_pod_after_the_other_misses_none_while_one_is_not_ready() -> None:
    assert explained(ORDERED, judged("db-0")).findings == ()
    assert len(explained(PARALLEL, judged("db-0")).findings) == 1


def test_a_workload_that_asks_for_no_pods_is_well() -> None:
    explanation = explained(EMPTY)
    assert explanation.is_well
    assert explanation.message == "0 pods wanted, 0 there, 0 without anything wrong."


def test_a_condition_tells_why_pods_are_missing() -> None:
    failure = RolloutCondition(type="ReplicaFailure", status="True", message="quota exceeded")
    web = Deployment(
        metadata=meta("web", "default"),
        spec=ReplicaSpec(replicas=1),
        status=ReplicaStatus(conditions=(failure,)),
    )
    (finding,) = explained(web).findings
    assert finding.sentence == "ReplicaFailure=True: quota exceeded"


def test_an_event_tells_why_pods_are_missing() -> None:
    event = an_event(PARALLEL, "FailedCreate", "pods are forbidden")
    (finding,) = explained(PARALLEL, (), event).findings
    assert finding.sentence == "pods are forbidden"


@pytest.mark.parametrize(
    ("conditions", "is_well"),
    [
        ((Condition(type="Complete", status="True"),), True),
        ((Condition(type="Failed", status="True", message="too many failures"),), False),
        ((), False),
    ],
)
def test_a_job_misses_no_pods_once_it_is_complete(
    conditions: tuple[Condition, ...], *, is_well: bool
) -> None:
    job = Job(
        metadata=meta("once", "default"),
        spec=JobSpec(completions=1),
        status=JobStatus(conditions=conditions),
    )
    assert explained(job).is_well is is_well


def test_pods_belong_to_the_workload_that_controls_them() -> None:
    def owned(name: str, uid: str) -> Pod:
        owner = OwnerReference(uid=uid, controller=True)
        pod = a_pod(name)
        metadata = msgspec.structs.replace(pod.metadata, owner_references=(owner,))
        return msgspec.structs.replace(pod, metadata=metadata)

    pods = [owned("db-10", ORDERED.uid), owned("db-2", ORDERED.uid), owned("db-3", "other")]
    assert [pod.name for pod in pods_of([ORDERED], [*pods, a_pod()])] == ["db-2", "db-10"]
