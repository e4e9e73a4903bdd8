"""Which pods are deleted first when there are too many, as in kube-controller-manager.

Pods without a node before others, pending before running, not ready before ready, then by the cost
that their owner put on them, then where several of them share a node. Among the rest the younger
go first, but ages are compared roughly, and ties are broken by uid: pods that were created zone by
zone are then not all deleted in one zone.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cmp_to_key

from plimsoll.api.pods import Pod
from plimsoll.decide.workloads.availability import is_active

COST_ANNOTATION = "controller.kubernetes.io/pod-deletion-cost"
PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
MICROSECOND = timedelta(microseconds=1)
INT32 = range(-(2**31), 2**31)


def in_deletion_order(pods: Iterable[Pod], related: Iterable[Pod], now: datetime) -> list[Pod]:
    """`related` are the pods to be spread over nodes, usually more than those to choose from."""
    on_node = Counter(pod.spec.node_name for pod in related if is_active(pod))

    def importance(pod: Pod) -> tuple[int, ...]:
        return (
            bool(pod.spec.node_name),
            PHASES.get(pod.status.phase, 0),
            pod.is_ready,
            deletion_cost(pod),
            -on_node[pod.spec.node_name],
        )

    def compare(one: Pod, other: Pod) -> int:
        first, second = importance(one), importance(other)
        if first != second:
            return -1 if first < second else 1
        return (
            _by_age(one, other, (one.ready_since, other.ready_since), now)
            or _restarts(other) - _restarts(one)
            or _by_age(one, other, (_created(one), _created(other)), now)
        )

    return sorted(sorted(pods, key=lambda pod: pod.key), key=cmp_to_key(compare))


def deletion_cost(pod: Pod) -> int:
    """Zero unless the annotation is a number as it should be."""
    text = pod.annotations.get(COST_ANNOTATION, "0")
    digits = text.removeprefix("-")
    is_plain = digits.isascii() and digits.isdecimal() and (digits == "0" or digits[0] != "0")
    cost = int(text) if is_plain and len(digits) < len(str(INT32.stop)) + 1 else 0
    return cost if cost in INT32 else 0


def _created(pod: Pod) -> datetime | None:
    return pod.metadata.creation_timestamp


def _restarts(pod: Pod) -> int:
    return max((status.restart_count for status in pod.status.container_statuses), default=0)


def _by_age(
    one: Pod, other: Pod, since: tuple[datetime | None, datetime | None], now: datetime
) -> int:
    """Negative when the first is younger, zero when there is nothing to compare."""
    first, second = since
    if first == second:
        return 0
    if first is None or second is None:
        return -1 if first is None else 1
    difference = _magnitude(now - first) - _magnitude(now - second)
    return difference or (-1 if one.uid < other.uid else 1)


def _magnitude(age: timedelta) -> int:
    """How often it can be halved."""
    return (age // MICROSECOND * 1000).bit_length() - 1 if age > timedelta() else -1
