"""Which pods are available (`minReadySeconds`), and how many may be unavailable."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from plimsoll.api.pods import Pod

PERCENT = re.compile(r"([0-9]+)%")


def is_active(pod: Pod) -> bool:
    """It runs or may come to run."""
    return not pod.is_finished and not pod.is_being_deleted


def is_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Ready, and for long enough."""
    if not min_ready_seconds:
        return pod.is_ready
    since = pod.ready_since
    return since is not None and since + timedelta(seconds=min_ready_seconds) <= now


def next_availability(
    pods: Iterable[Pod], min_ready_seconds: int, now: datetime
) -> timedelta | None:
    """When the next of them becomes available if it stays ready; None if time changes nothing."""
    if not min_ready_seconds:
        return None
    waits = [
        since + timedelta(seconds=min_ready_seconds) - now
        for pod in pods
        if (since := pod.ready_since) is not None
    ]
    return min((wait for wait in waits if wait > timedelta()), default=None)


def share_of(total: int, value: int | str | None, *, round_up: bool) -> int:
    """A number of pods given as such or in percent of the total; None is zero."""
    if value is None or isinstance(value, int):
        return value or 0
    percent = PERCENT.fullmatch(value)
    hundredths = int(percent[1]) * total if percent else 0
    return -(-hundredths // 100) if round_up else hundredths // 100
