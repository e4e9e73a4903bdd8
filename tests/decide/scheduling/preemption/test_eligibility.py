from datetime import UTC, datetime

import msgspec
import pytest

from plimsoll.api.meta import Condition
from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.preemption.eligibility import NotEligible, find_ineligibility
from plimsoll.decide.scheduling.reasons import Verdict
from tests.builders import a_pod
from tests.decide.scheduling.builders import ranked

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def leaving(priority: int = 0, *, reason: str = "PreemptionByScheduler") -> Pod:
    pod = ranked(a_pod("victim", node="node-1"), priority)
    told = Condition(type="DisruptionTarget", status="True", reason=reason)
    status = msgspec.structs.replace(pod.status, conditions=(told,))
    metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=NOW)
    return msgspec.structs.replace(pod, status=status, metadata=metadata)


HIGH = ranked(a_pod("high"), 10, nominated="node-1")


def test_a_pod_whose_policy_is_never_evicts_no_other() -> None:
    pod = msgspec.structs.replace(
        HIGH, spec=msgspec.structs.replace(HIGH.spec, preemption_policy="Never")
    )

    assert find_ineligibility(pod, None, ()) is NotEligible.POLICY


def test_a_pod_waits_for_its_victims() -> None:
    found = find_ineligibility(HIGH, Verdict.UNSCHEDULABLE, [leaving()])

    assert found is NotEligible.VICTIMS_LEAVING


@pytest.mark.parametrize(
    ("verdict", "other"),
    [
        pytest.param(None, leaving(), id="no-nominated-node"),
        pytest.param(Verdict.UNRESOLVABLE, leaving(), id="node-will-never-do"),
        pytest.param(Verdict.UNSCHEDULABLE, leaving(10), id="leaves-for-no-higher-pod"),
        pytest.param(Verdict.UNSCHEDULABLE, leaving(reason="Other"), id="leaves-by-itself"),
        pytest.param(Verdict.UNSCHEDULABLE, a_pod(node="node-1"), id="stays"),
    ],
)
def test_a_pod_whose_victims_are_not_leaving_may_try_again(
    verdict: Verdict | None, other: Pod
) -> None:
    assert find_ineligibility(HIGH, verdict, [other]) is None
