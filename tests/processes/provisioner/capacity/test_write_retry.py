"""Trying less and less often what is refused."""

from datetime import timedelta
from random import Random

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.plan import Create, Patch, ResourceName
from plimsoll.enact.enactor import Done, Obstacle, Outcome, Overtaken
from plimsoll.processes.provisioner.capacity.write_retry import WriteRetry, concerns_all
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import SteppedClock
from plimsoll.wire.errors import Failure, KubeError

PAUSES = Backoff(first=timedelta(seconds=1), limit=timedelta(minutes=1))
CAPACITIES = ResourceName("storage.k8s.io", "v1", "csistoragecapacities")
CREATE = Create(resource=CAPACITIES, document={"metadata": {}})
PATCH = Patch(resource=CAPACITIES, key=ObjectKey("a", "b"), patch={})


async def test_pauses_grow_until_something_succeeds() -> None:
    clock = SteppedClock()
    retry = WriteRetry(clock, Random(1), PAUSES)
    assert retry.left == timedelta()
    pauses = []
    for _ in range(10):
        retry.refused()
        pauses.append(retry.left)
        await clock.run(retry.left)
        assert retry.left == timedelta()
    assert pauses[0] <= PAUSES.first
    assert PAUSES.limit / 2 <= pauses[-1] <= PAUSES.limit
    retry.refused()
    retry.succeeded()
    assert retry.left == timedelta()
    retry.refused()
    assert retry.left <= PAUSES.first


def overtaken(write: Create | Patch, failure: Failure) -> Overtaken:
    return Overtaken(write, KubeError(failure, "no"))


def obstacle(failure: Failure) -> Obstacle:
    return Obstacle(CREATE, KubeError(failure, "no"))


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(obstacle(Failure.FORBIDDEN), id="forbidden"),
        pytest.param(obstacle(Failure.UNAVAILABLE), id="server-away"),
        pytest.param(overtaken(CREATE, Failure.NOT_FOUND), id="no-such-api"),
    ],
)
def test_what_would_end_all_writes_the_same_way_concerns_all(outcome: Outcome) -> None:
    assert concerns_all(outcome)


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(Done(), id="done"),
        pytest.param(obstacle(Failure.INVALID), id="one-object-is-wrong"),
        pytest.param(overtaken(PATCH, Failure.NOT_FOUND), id="one-object-is-gone"),
        pytest.param(overtaken(PATCH, Failure.CONFLICT), id="another-writer-was-faster"),
    ],
)
def test_what_is_about_one_object_concerns_no_other(outcome: Outcome) -> None:
    assert not concerns_all(outcome)
