"""Asks `plimsoll.decide.scheduling` what pods take, and in which order and when they get a turn."""

from datetime import datetime, timedelta
from typing import Any

from plimsoll.api.meta import wire_time
from plimsoll.api.pods import Pod
from plimsoll.api.typed import from_document
from plimsoll.decide.scheduling.pod_requests import (
    Amounts,
    held_by,
    non_zero_requests,
    requested_by,
)
from plimsoll.decide.scheduling.queue.backoff import Attempts, PodBackoff
from plimsoll.decide.scheduling.queue.order import in_turn
from plimsoll.decide.scheduling.rules.volume_binding.score import (
    Point,
    ScoringShape,
    Usage,
    score_usage,
)
from tests.oracle.comparison import agrees

Answer = dict[str, Any]


def pod_requests(case: dict[str, Any]) -> Answer:
    pod = from_document(Pod, case["pod"])
    milli_cpu, memory = non_zero_requests(pod)
    return {
        "fitRequest": _shown(requested_by(pod)),
        "nodeAccounting": _shown(held_by(pod)),
        "nonZeroMilliCPU": milli_cpu,
        "nonZeroMemory": str(memory),
    }


def _shown(amounts: Amounts) -> Answer:
    answer: Answer = {
        "milliCPU": amounts.milli_cpu,
        "memory": str(amounts.memory),
        "ephemeralStorage": str(amounts.ephemeral_storage),
    }
    scalars = {name: str(amount) for name, amount in amounts.scalars.items()}
    return answer | ({"scalar": scalars} if scalars else {})


def priority_sort(case: dict[str, Any]) -> Answer:
    waiting = [
        (from_document(Pod, item["pod"]), datetime.fromisoformat(item["timestamp"]))
        for item in case["items"]
    ]
    return {"order": [sorted(str(pod.key) for pod in group) for group in in_turn(waiting)]}


def priority_sort_agrees(expected: Answer, actual: Answer) -> bool:
    """The order inside a group is free."""
    return agrees({"order": [sorted(group) for group in expected["order"]]}, actual)


def backoff(case: dict[str, Any]) -> Answer:
    rule = PodBackoff(
        first=timedelta(seconds=case["initialSeconds"]), limit=timedelta(seconds=case["maxSeconds"])
    )
    attempts = Attempts(
        unschedulable=case["unschedulableCount"],
        consecutive_errors=case["consecutiveErrorsCount"],
    )
    since = datetime.fromisoformat(case["timestamp"])
    ends_at, free_at = rule.ends_at(attempts, since), rule.free_at(attempts, since)
    return {
        "rawDurationForCountSeconds": rule.delay(attempts).total_seconds(),
        "backoffExpiration": ends_at and wire_time(ends_at),
    } | ({"firstFreeInstant": wire_time(free_at)} if free_at else {})


def scorer(case: dict[str, Any]) -> Answer:
    try:
        shape = ScoringShape.parse([Point(**point) for point in case["shape"]])
    except ValueError as error:
        return {"error": str(error)}
    usage = {name: Usage(**numbers) for name, numbers in case["classes"].items()}
    return {"score": score_usage(usage, shape)}
