"""Whose turn it is: pods with a higher priority first, then those that have waited longest."""

from collections.abc import Iterable
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from plimsoll.api.pods import Pod


class Turn(NamedTuple):
    """Sorts pods that wait; equal ones may go in any order."""

    falling_priority: int
    queued_at: datetime


def turn_of(pod: Pod, queued_at: datetime) -> Turn:
    return Turn(-pod.priority, queued_at)


def in_turn(waiting: Iterable[tuple[Pod, datetime]]) -> list[list[Pod]]:
    """Groups of pods, first come first served; the pods of one group are equal."""
    ordered = sorted(waiting, key=_turn)
    return [[pod for pod, _ in group] for _, group in groupby(ordered, key=_turn)]


def _turn(item: tuple[Pod, datetime]) -> Turn:
    return turn_of(*item)
