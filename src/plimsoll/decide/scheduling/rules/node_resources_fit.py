"""NodeResourcesFit: whether a pod fits beside the others on a node, and how empty the node stays.

Findings tell a node that is full from one that was never large enough. Nodes are scored by
kube-scheduler's default strategy, LeastAllocated, or by the one that the profile names.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.decide.scheduling.columns.nodes import NodeTable, Slots
from plimsoll.decide.scheduling.columns.resources import (
    ALL,
    COMPARED,
    COMPARED_ROWS,
    FREE_ROWS,
    NON_ZERO_FREE_ROWS,
    NON_ZERO_ROWS,
    PODS,
    USED,
    USUAL,
    Demands,
    Load,
    NodeResources,
    ResourceRows,
)
from plimsoll.decide.scheduling.flags import (
    FIRST_SCALAR,
    LAST_SCALAR,
    Blocked,
    Flags,
    NodeSentence,
    flagged,
    no_flags,
)
from plimsoll.decide.scheduling.pod_requests import EPHEMERAL_STORAGE, is_scalar
from plimsoll.decide.scheduling.profiles.resource_scoring import (
    LEAST_ALLOCATED,
    ResourceScoring,
    ResourceUse,
    Strategy,
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

SCORED = (*COMPARED, EPHEMERAL_STORAGE)
FLAGS_OF_USUAL = np.array(
    [Blocked.TOO_MANY_PODS, Blocked.CPU, Blocked.MEMORY, Blocked.EPHEMERAL_STORAGE], np.uint64
)
BITS_OF_USUAL: list[int] = FLAGS_OF_USUAL.tolist()
FIRST_FREE = FREE_ROWS.start
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


def score(
    demands: Demands, node: Node, load: Load, scoring: ResourceScoring = LEAST_ALLOCATED
) -> int:
    """From 0 to 100; by default the emptier the better."""
    allocatable = NodeResources.of(node)
    held = dict(zip(COMPARED, load.non_zero, strict=True))
    wanted = dict(zip(COMPARED, demands.non_zero, strict=True))
    uses = []
    for name, _ in scoring.weights:
        if is_scored(name, demands):
            used = held.get(name, load.get(name)) + wanted.get(name, demands.amounts.get(name, 0))
            uses.append(ResourceUse(name, used, allocatable.get(name)))
    return scoring.score(uses)


def is_scored(name: str, demands: Demands) -> bool:
    """Devices and the like count only for pods that ask for them."""
    return name in SCORED or (is_scalar(name) and demands.amounts.get(name, 0) != 0)


# All nodes at once


def blocked(
    demands: Demands,
    rows: NDArray[np.int64],
    scalars: Mapping[str, NodeTable],
    at: Slots | slice,
) -> Flags:
    """By column of `rows`, which are those of `ResourceColumns` at the slots `at`."""
    found = blocked_usual(demands, rows)
    for name, flag in scalar_flags(demands):
        table = scalars.get(name)
        if table is None:
            found |= np.uint64(flag)
            continue
        spare = table.values[ALL, at] - table.values[USED, at]
        found |= flagged(spare < demands.amounts[name], flag)
    return found


def blocked_usual(demands: Demands, rows: NDArray[np.int64]) -> Flags:
    """The same for the usual resources alone."""
    is_short = rows[FREE_ROWS] < demands.least_rest
    if not np.logical_or.reduce(is_short, axis=None):
        return no_flags(is_short.shape[1])
    found: Flags = FLAGS_OF_USUAL @ is_short
    return found


def scalar_flags(demands: Demands) -> list[tuple[str, int]]:
    """Resources beside the usual ones, with the bit for too little of each."""
    if len(demands.amounts) == len(USUAL):
        return []
    bits = enumerate(demands.scalars, FIRST_SCALAR)
    flags = [(name, 1 << min(bit, LAST_SCALAR)) for bit, name in bits]
    return [(name, flag) for name, flag in flags if demands.amounts[name] > 0]


def scores_by(
    scoring: ResourceScoring, demands: Demands, resources: ResourceRows
) -> NDArray[np.int64]:
    """By node, in the order of the rows."""
    if scoring is LEAST_ALLOCATED or scoring == LEAST_ALLOCATED:
        return scores(demands, resources.usual, is_whole=resources.is_whole)
    total = weights = np.zeros(resources.length, np.int64)
    for name, weight in scoring.weights:
        if not is_scored(name, demands):
            continue
        used, all_ = _compared(name, demands, resources)
        part = _parts(scoring, used, all_)
        counts = (all_ > 0) & ((part > 0) | (scoring.shape is None))
        total = total + np.where(counts, part * weight, 0)
        weights = weights + np.where(counts, weight, 0)
    shared = np.maximum(weights, 1)
    if scoring.shape is None:
        return total // shared
    rounded: NDArray[np.int64] = (2 * total + weights) // (2 * shared)
    return rounded


def _compared(
    name: str, demands: Demands, resources: ResourceRows
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What would be taken of a resource with the pod, and what there is of it."""
    used, all_ = resources.used_and_all(name)
    if name not in COMPARED:
        return used + demands.amounts.get(name, 0), all_
    place = COMPARED.index(name)
    return resources.usual[NON_ZERO_ROWS][place] + demands.non_zero_rows[place], all_


def _parts(
    scoring: ResourceScoring, used: NDArray[np.int64], all_: NDArray[np.int64]
) -> NDArray[np.int64]:
    # Where there is nothing the numbers do not matter, but must be numbers.
    there = np.maximum(all_, 1)
    if scoring.strategy is Strategy.LEAST_ALLOCATED:
        parts = np.maximum(all_ - used, 0) * BEST // there
    elif scoring.strategy is Strategy.MOST_ALLOCATED:
        parts = np.minimum(used, all_) * BEST // there
    else:
        percent = np.where(used > all_, BEST, used * BEST // there).clip(0, BEST)
        points = [scoring.shape.score(each) if scoring.shape else 0 for each in range(BEST + 1)]
        parts = np.array(points, np.int64)[percent]
    found: NDArray[np.int64] = parts
    return found


def scores(
    demands: Demands, rows: NDArray[np.int64], *, is_whole: bool | None = None
) -> NDArray[np.int64]:
    """The same for the default strategy. `is_whole`: whether all nodes have cpu and memory; None:
    it is not known."""
    all_ = rows[COMPARED_ROWS]
    # In place: for few nodes every array that is made takes as long as the sum.
    left = rows[NON_ZERO_FREE_ROWS] - demands.non_zero_rows
    np.maximum(left, 0, out=left)
    left *= BEST
    if is_whole is None:
        is_whole = bool(np.minimum.reduce(all_, axis=None, initial=1) > 0)
    if is_whole:
        left //= all_
        shared: NDArray[np.int64] = left[0]
        shared += left[1]
        shared >>= 1
        return shared
    # Where there is nothing the numbers do not matter, but must be numbers.
    left //= np.maximum(all_, 1)
    is_comparable: NDArray[np.bool_] = np.logical_and.reduce(all_ > 0, axis=0)
    # What a node has none of is left out; the other share then counts alone.
    total: NDArray[np.int64] = left[0] + left[1]
    return np.where(is_comparable, total // 2, total)


# One node by its row


def blocked_row(demands: Demands, row: Sequence[int]) -> int:
    """The flags for the usual resources; `row` is one of `ResourceColumns`."""
    found = 0
    for place, least in enumerate(demands.least):
        if row[FIRST_FREE + place] < least:
            found |= BITS_OF_USUAL[place]
    return found


def score_row(demands: Demands, row: Sequence[int]) -> int:
    """By the default strategy."""
    (cpu, memory), (more_cpu, more_memory) = row[COMPARED_ROWS], demands.non_zero
    free_cpu, free_memory = row[NON_ZERO_FREE_ROWS]
    total = _share(free_cpu - more_cpu, cpu) + _share(free_memory - more_memory, memory)
    return total // 2 if cpu > 0 and memory > 0 else total


def _share(left: int, all_: int) -> int:
    return left * BEST // all_ if left > 0 and all_ > 0 else 0
