"""NodeResourcesFit: whether a pod fits beside the others on a node, and how empty the node stays.

Findings tell a node that is full from one that was never large enough. The score is that of
kube-scheduler's default strategy, LeastAllocated.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.decide.scheduling.columns.nodes import NodeTable, Slots
from plimsoll.decide.scheduling.columns.resources import (
    ALL,
    ALL_ROWS,
    COMPARED,
    COMPARED_ROWS,
    NON_ZERO_ROWS,
    PODS,
    USED,
    USED_ROWS,
    USUAL,
    Demands,
    Load,
    NodeResources,
)
from plimsoll.decide.scheduling.flags import (
    FIRST_SCALAR,
    LAST_SCALAR,
    Blocked,
    Flags,
    NodeSentence,
    flagged,
)
from plimsoll.decide.scheduling.reasons import (
    FIT,
    Finding,
    Judgement,
    Reason,
    SeenObject,
    unresolvable,
    unschedulable,
)

FLAGS_OF_USUAL = np.array(
    [Blocked.TOO_MANY_PODS, Blocked.CPU, Blocked.MEMORY, Blocked.EPHEMERAL_STORAGE], np.uint64
)
BEST = 100


def judge(demands: Demands, node: Node, load: Load) -> Judgement:
    allocatable = NodeResources.of(node)
    findings = []
    is_hopeless = False
    for name in (*USUAL, *demands.scalars):
        wanted, all_, used = demands.amounts.get(name, 0), allocatable.get(name), load.get(name)
        if wanted <= 0 or wanted <= all_ - used:
            continue
        # On a node that was never large enough it would not help if other pods left.
        is_hopeless = is_hopeless or (name != PODS and wanted > all_)
        findings.append(_finding(name, node, wanted, all_ - used))
    if not findings:
        return FIT
    return unresolvable(*findings) if is_hopeless else unschedulable(*findings)


def _finding(name: str, node: Node, wanted: int, seen: int) -> Finding:
    about = SeenObject("Node", ObjectKey("", node.name))
    if name == PODS:
        reason, sentence = Reason.TOO_MANY_PODS, str(NodeSentence.TOO_MANY_PODS)
    else:
        reason, sentence = Reason.INSUFFICIENT_RESOURCE, f"Insufficient {name}"
    return Finding(reason=reason, sentence=sentence, about=about, wanted=wanted, seen=seen)


def score(demands: Demands, node: Node, load: Load) -> int:
    """The emptier the better, from 0 to 100."""
    allocatable = NodeResources.of(node)
    scores = []
    for name, held, wanted in zip(COMPARED, load.non_zero, demands.non_zero, strict=True):
        all_ = allocatable.get(name)
        if all_:
            used = held + wanted
            scores.append(0 if used > all_ else (all_ - used) * BEST // all_)
    return sum(scores) // len(scores) if scores else 0


# All nodes at once


def blocked(
    demands: Demands,
    rows: NDArray[np.int64],
    scalars: Mapping[str, NodeTable],
    at: Slots | slice,
) -> Flags:
    """By column of `rows`, which are those of `ResourceColumns` at the slots `at`."""
    is_short = rows[ALL_ROWS] - rows[USED_ROWS] < demands.least_rest
    found: Flags = FLAGS_OF_USUAL @ is_short
    for name, flag in scalar_flags(demands):
        table = scalars.get(name)
        if table is None:
            found |= np.uint64(flag)
            continue
        spare = table.values[ALL, at] - table.values[USED, at]
        found |= flagged(spare < demands.amounts[name], flag)
    return found


def scalar_flags(demands: Demands) -> list[tuple[str, int]]:
    """Resources beside the usual ones, with the bit for too little of each."""
    if len(demands.amounts) == len(USUAL):
        return []
    bits = enumerate(demands.scalars, FIRST_SCALAR)
    flags = [(name, 1 << min(bit, LAST_SCALAR)) for bit, name in bits]
    return [(name, flag) for name, flag in flags if demands.amounts[name] > 0]


def scores(demands: Demands, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """By column of `rows`, which come from `ResourceColumns`."""
    all_ = rows[COMPARED_ROWS]
    left = np.maximum(all_ - rows[NON_ZERO_ROWS] - demands.non_zero_rows, 0)
    # Where there is nothing the numbers do not matter, but must be numbers.
    shares = left * BEST // np.maximum(all_, 1)
    is_comparable: NDArray[np.bool_] = np.logical_and.reduce(all_ > 0, axis=0)
    # What a node has none of is left out; the other share then counts alone.
    total: NDArray[np.int64] = shares.sum(axis=0)
    return np.where(is_comparable, total // 2, total)
