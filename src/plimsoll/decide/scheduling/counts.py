"""How many nodes speak against a pod, reason by reason, for the people who wait for it."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import mask_of
from plimsoll.decide.scheduling.flags import (
    FIRST_SCALAR,
    LAST_SCALAR,
    SCALARS,
    AnyRule,
    Blocked,
    Flags,
    NodeRule,
    Tally,
    bits_of_first_rule,
    meanings_in,
    of_first_rule,
    tally_of,
)
from plimsoll.decide.scheduling.judge import Judged
from plimsoll.decide.scheduling.reasons import Reason, Rule
from plimsoll.decide.scheduling.rules.narrowing import Narrowing
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
    flags, tally = judged.flags, judged.tally
    if judged.narrowing is not None:
        outside = judged.narrowing.outside(columns)
        flags = np.where(mask_of(outside, columns.index.size), np.uint64(0), flags)
        tally = tally_of(flags)
        yield from _outside(judged.narrowing, outside.bit_count())
    first = _by_first_rule(tally)
    for flag, (rule, reason, sentence) in meanings_in(_present(first)):
        if flag is Blocked.LIMIT_DRIVER:
            slots = np.flatnonzero(of_first_rule(flags) & np.uint64(flag))
            yield from _missing_drivers(judged, columns, set(slots.tolist()))
            continue
        said = sentence or example(int((of_first_rule(flags) & np.uint64(flag)).argmax()), rule)
        yield Count(rule, reason, said, _having(first, flag))
    yield from _scalars(judged, first)


def _by_first_rule(tally: Tally) -> Tally:
    """How many nodes there are by what the first rule says of them."""
    found: Tally = {}
    for flags, nodes in tally.items():
        bits = bits_of_first_rule(flags)
        found[bits] = found.get(bits, 0) + nodes
    return found


def _present(tally: Tally) -> int:
    return reduce(or_, tally, 0)


def _having(tally: Tally, flag: int) -> int:
    return sum(nodes for flags, nodes in tally.items() if flags & flag)


def sentences(flags: Flags, scalars: Sequence[str]) -> Counter[str]:
    """How many nodes each is about, of what the first rule says; `scalars` are the pod's resources
    beside the usual ones."""
    found: Counter[str] = Counter()
    first = _by_first_rule(tally_of(flags))
    present = _present(first)
    for flag, (rule, _, sentence) in meanings_in(present):
        found[sentence or str(rule)] += _having(first, flag)
    for bit, name in enumerate(scalars, FIRST_SCALAR):
        if 1 << bit & present & SCALARS:
            found[f"Insufficient {name}"] += _having(first, 1 << bit)
    return found


def _outside(narrowing: Narrowing, nodes: int) -> Iterator[Count]:
    if nodes:
        reason = Reason.NODE_AFFINITY_MISMATCH
        yield Count(narrowing.rules[0], reason, narrowing.sentence, nodes)


def _missing_drivers(judged: Judged, columns: Columns, slots: set[int]) -> Iterator[Count]:
    for name, bits in LimitColumns(judged.pod, columns).missing_drivers():
        number = sum(bits >> slot & 1 for slot in slots)
        if number:
            sentence = f"{name} CSI driver is not installed on the node"
            yield Count(Rule.VOLUME_LIMITS, Reason.DRIVER_NOT_ON_NODE, sentence, number)


def _scalars(judged: Judged, first: Tally) -> Iterator[Count]:
    if not _present(first) & SCALARS:
        return
    names = judged.node_fit.required.scalars
    for number, name in enumerate(names):
        bit = min(FIRST_SCALAR + number, LAST_SCALAR)
        found = _having(first, 1 << bit)
        if found and FIRST_SCALAR + number <= LAST_SCALAR:
            sentence = f"Insufficient {name}"
            yield Count(NodeRule.RESOURCES, Reason.INSUFFICIENT_RESOURCE, sentence, found)
