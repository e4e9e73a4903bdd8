"""How many nodes speak against a pod, reason by reason, for the people who wait for it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import (
    FIRST_SCALAR,
    LAST_SCALAR,
    MEANINGS,
    AnyRule,
    Blocked,
    Flags,
    NodeRule,
    of_first_rule,
)
from plimsoll.decide.scheduling.judge import Judged
from plimsoll.decide.scheduling.reasons import Reason, Rule
from plimsoll.decide.scheduling.rules.node_volume_limits import LimitColumns


@dataclass(frozen=True, slots=True)
class Count:
    """So many nodes, by one sentence of one rule."""

    rule: AnyRule
    reason: Reason
    sentence: str
    nodes: int


Example = Callable[[int, AnyRule], str]
"""What a rule says of the node in a slot."""


def counts(judged: Judged, columns: Columns, example: Example) -> tuple[Count, ...]:
    """By the first rule that speaks against each node, as kube-scheduler counts."""
    return tuple(_counts(judged, columns, example))


def _counts(judged: Judged, columns: Columns, example: Example) -> Iterator[Count]:
    first = of_first_rule(judged.flags)
    for flag, (rule, reason, sentence) in MEANINGS.items():
        slots = np.flatnonzero(first & np.uint64(flag))
        if not len(slots):
            continue
        if flag is Blocked.LIMIT_DRIVER:
            yield from _missing_drivers(judged, columns, set(slots.tolist()))
        else:
            yield Count(rule, reason, sentence or example(int(slots[0]), rule), len(slots))
    yield from _scalars(judged, first)


def _missing_drivers(judged: Judged, columns: Columns, slots: set[int]) -> Iterator[Count]:
    for name, bits in LimitColumns(judged.pod, columns).missing_drivers():
        number = sum(bits >> slot & 1 for slot in slots)
        if number:
            sentence = f"{name} CSI driver is not installed on the node"
            yield Count(Rule.VOLUME_LIMITS, Reason.DRIVER_NOT_ON_NODE, sentence, number)


def _scalars(judged: Judged, first: Flags) -> Iterator[Count]:
    names = judged.node_fit.resources.scalars
    for number, name in enumerate(names):
        bit = min(FIRST_SCALAR + number, LAST_SCALAR)
        found = int(np.count_nonzero(first & np.uint64(1 << bit)))
        if found and FIRST_SCALAR + number <= LAST_SCALAR:
            sentence = f"Insufficient {name}"
            yield Count(NodeRule.RESOURCES, Reason.INSUFFICIENT_RESOURCE, sentence, found)
