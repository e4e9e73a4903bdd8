from datetime import UTC, datetime, timedelta

import msgspec

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.queue.order import in_turn
from tests.builders import a_pod

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def important(name: str, priority: int | None) -> Pod:
    pod = a_pod(name)
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, priority=priority))


def test_priority_goes_before_waiting_time() -> None:
    later = NOON + timedelta(seconds=1)
    groups = in_turn(
        [
            (important("late", None), later),
            (important("early", 0), NOON),
            (important("urgent", 5), later),
            (important("idle", -1), NOON),
        ]
    )
    names = [[pod.name for pod in group] for group in groups]
    assert names == [["urgent"], ["early"], ["late"], ["idle"]]


def test_pods_that_came_together_are_equal() -> None:
    groups = in_turn([(important("a", 1), NOON), (important("b", 1), NOON)])
    assert [len(group) for group in groups] == [2]
