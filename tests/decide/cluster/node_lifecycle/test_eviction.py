"""When a NoExecute taint ends a pod."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st
from msgspec import structs

from plimsoll.api.core import Taint
from plimsoll.api.meta import Condition
from plimsoll.api.pods import Pod, PodStatus, Toleration
from plimsoll.decide.cluster.node_lifecycle.eviction import (
    AT_ONCE,
    decide_taint_eviction,
    eviction_time,
)
from plimsoll.decide.plan import Delete, Emit, Patch
from tests.builders import a_pod

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
ADDED = NOW - timedelta(seconds=100)
NOTICED = NOW - timedelta(seconds=10)
GONE = Taint(key="gone", effect="NoExecute", time_added=ADDED)
UNTIMED = Taint(key="untimed", effect="NoExecute")


def tolerates(taint: Taint, seconds: int | None = None) -> Toleration:
    return Toleration(
        key=taint.key, operator="Exists", effect="NoExecute", toleration_seconds=seconds
    )


def tolerating(*tolerations: Toleration, scheduled: datetime | None = None) -> Pod:
    pod = a_pod(node="node-1")
    conditions = (Condition(type="PodScheduled", status="True", last_transition_time=scheduled),)
    return structs.replace(
        pod,
        spec=structs.replace(pod.spec, tolerations=tolerations),
        status=PodStatus(conditions=conditions if scheduled else ()),
    )


@pytest.mark.parametrize(
    ("pod", "taints", "expected"),
    [
        pytest.param(tolerating(), (), None, id="no-taint"),
        pytest.param(tolerating(), (GONE,), AT_ONCE, id="not-tolerated"),
        pytest.param(tolerating(tolerates(GONE)), (GONE,), None, id="tolerated-for-ever"),
        pytest.param(
            tolerating(tolerates(GONE, 300)),
            (GONE,),
            ADDED + timedelta(seconds=300),
            id="tolerated-for-a-time",
        ),
        pytest.param(tolerating(tolerates(GONE, 0)), (GONE,), AT_ONCE, id="for-no-time"),
        pytest.param(
            tolerating(tolerates(GONE, 300), scheduled=NOW),
            (GONE,),
            NOW + timedelta(seconds=300),
            id="pod-came-after-the-taint",
        ),
        pytest.param(
            tolerating(tolerates(UNTIMED, 300)),
            (UNTIMED,),
            NOTICED + timedelta(seconds=300),
            id="taint-without-time",
        ),
        pytest.param(
            tolerating(tolerates(GONE, 300)), (GONE, UNTIMED), AT_ONCE, id="one-of-two-tolerated"
        ),
        pytest.param(
            tolerating(tolerates(GONE), tolerates(UNTIMED, 60)),
            (GONE, UNTIMED),
            NOTICED + timedelta(seconds=60),
            id="the-shortest-time-counts",
        ),
        pytest.param(
            tolerating(tolerates(GONE, 2**62)), (GONE,), None, id="longer-than-any-calendar"
        ),
    ],
)
def test_when_a_pod_is_ended(pod: Pod, taints: tuple[Taint, ...], expected: datetime) -> None:
    assert eviction_time(pod, taints, NOTICED) == expected


@given(seconds=st.integers(1, 10_000), later=st.integers(1, 10_000))
def test_the_time_does_not_depend_on_when_it_is_asked(seconds: int, later: int) -> None:
    """So a controller that restarts ends pods when the one before would have."""
    pod = tolerating(tolerates(GONE, seconds))
    again = NOTICED + timedelta(seconds=later)
    assert eviction_time(pod, (GONE,), NOTICED) == eviction_time(pod, (GONE,), again)


def test_a_pod_is_marked_and_deleted_and_its_user_told() -> None:
    marked, deleted, told = decide_taint_eviction(a_pod(node="node-1"), NOW).writes
    assert isinstance(marked, Patch)
    assert marked.patch["status"]["conditions"] == [
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
            "lastTransitionTime": "2024-01-01T12:00:00Z",
        }
    ]
    assert isinstance(deleted, Delete)
    assert deleted.uid == "uid-default-web-0"
    assert isinstance(told, Emit)
    assert (told.reason, told.message) == (
        "TaintManagerEviction",
        "Marking for deletion Pod default/web-0",
    )
