"""NodeResourcesBalancedAllocation: a node is better where the pod brings the use of its resources
closer together, by default those of its cpu and its memory. It refuses no node."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node
from plimsoll.decide.scheduling.columns.resources import (
    COMPARED,
    COMPARED_ROWS,
    COMPARED_USED_ROWS,
    Demands,
    Load,
    NodeResources,
    ResourceRows,
)
from plimsoll.decide.scheduling.rules.node_resources_fit import is_scored

BEST = 100
TWO = 2


def score(demands: Demands, node: Node, load: Load, resources: Sequence[str] = COMPARED) -> int:
    """From 0 to 100."""
    if not is_concerned(demands, resources):
        return 0
    allocatable = NodeResources.of(node)
    names = [name for name in resources if is_scored(name, demands)]
    after = {name: load.get(name) + demands.amounts.get(name, 0) for name in names}
    gained = _balance(names, after, allocatable) - _balance(names, load.amounts, allocatable)
    return BEST // 2 + int((BEST // 2 + gained) / 2)


def is_concerned(demands: Demands, resources: Sequence[str] = COMPARED) -> bool:
    """Pods that ask for nothing would all go to the same node."""
    return any(demands.amounts.get(name) for name in resources)


def _balance(names: Sequence[str], used: Mapping[str, int], allocatable: NodeResources) -> int:
    shares = [
        min(max(used.get(name, 0) / allocatable.get(name), 0.0), 1.0)
        for name in names
        if allocatable.get(name)
    ]
    return int((1 - _deviation(shares)) * BEST)


def _deviation(shares: Sequence[float]) -> float:
    """From their mean; of two it is half of what they are apart."""
    if len(shares) == TWO:
        return abs((shares[0] - shares[1]) / 2)
    mean = sum(shares) / max(len(shares), 1)
    return math.sqrt(sum((share - mean) * (share - mean) for share in shares) / max(len(shares), 1))


# All nodes at once


def scores_of(
    names: Sequence[str], demands: Demands, resources: ResourceRows
) -> NDArray[np.int64] | int:
    """By node, in the order of the rows."""
    if tuple(names) == COMPARED:
        return scores(demands, resources.usual)
    if not is_concerned(demands, names):
        return 0
    uses = [
        (demands.amounts.get(name, 0), *resources.used_and_all(name))
        for name in names
        if is_scored(name, demands)
    ]
    before, after = (_balances(uses, step) for step in (0, 1))
    total: NDArray[np.int64] = BEST // 2 + (BEST // 2 + after - before) // 2
    return total


Use = tuple[int, NDArray[np.int64], NDArray[np.int64]]
"""What the pod takes of a resource, what is taken of it by node, and what there is."""


def _balances(uses: Sequence[Use], step: int) -> NDArray[np.int64]:
    """Before the pod comes (0) and after (1). Resources that a node has none of are left out."""
    shares = np.array(
        [((used + step * more) / np.maximum(all_, 1)).clip(0, 1) for more, used, all_ in uses]
    )
    there = np.array([all_ > 0 for _, _, all_ in uses])
    number = np.maximum(there.sum(axis=0), 1)
    mean = (shares * there).sum(axis=0) / number
    deviation = np.sqrt(((shares - mean) * (shares - mean) * there).sum(axis=0) / number)
    is_pair = there.sum(axis=0) == TWO
    lowest = np.where(there, shares, 1.0).min(axis=0)
    highest = np.where(there, shares, 0.0).max(axis=0)
    deviation = np.where(is_pair, np.abs((highest - lowest) / 2), deviation)
    found: NDArray[np.int64] = ((1 - deviation) * BEST).astype(np.int64)
    return found


def scores(demands: Demands, rows: NDArray[np.int64]) -> NDArray[np.int64] | int:
    """The same for cpu and memory."""
    if not is_concerned(demands):
        return 0
    all_ = rows[COMPARED_ROWS]
    # Before and after the pod comes, cpu and memory, nodes.
    # A request beyond 64 bits may have wrapped around to less than nothing: it counts as nothing.
    is_whole = np.minimum.reduce(all_, axis=None, initial=1) > 0
    shares = (rows[COMPARED_USED_ROWS] + demands.steps) / (
        all_ if is_whole else np.maximum(all_, 1)
    )
    np.maximum(shares, 0.0, out=shares)
    np.minimum(shares, 1.0, out=shares)
    # In place: for few nodes every array that is made takes as long as the sum.
    balances = shares[:, 0] - shares[:, 1]
    np.abs(balances, out=balances)
    balances *= 0.5
    if not is_whole:
        balances *= np.logical_and.reduce(all_ > 0, axis=0)
    np.subtract(1.0, balances, out=balances)
    balances *= BEST
    before, after = balances.astype(np.int64)
    # Never negative: both lie between 50 and 100.
    after -= before
    after += BEST // 2
    after >>= 1
    after += BEST // 2
    total: NDArray[np.int64] = after
    return total


def score_row(demands: Demands, row: Sequence[int]) -> int:
    """The same for one node; `row` is one of `ResourceColumns`."""
    if not is_concerned(demands):
        return 0
    (cpu, memory), (used_cpu, used_memory) = row[COMPARED_ROWS], row[COMPARED_USED_ROWS]
    if cpu <= 0 or memory <= 0:
        return BEST // 2 + BEST // 4
    more_cpu, more_memory = demands.compared
    before = _pair_balance(_share(used_cpu, cpu), _share(used_memory, memory))
    after = _pair_balance(
        _share(used_cpu + more_cpu, cpu), _share(used_memory + more_memory, memory)
    )
    return BEST // 2 + (BEST // 2 + after - before) // 2


def _share(used: int, all_: int) -> float:
    # Numbers with many digits are rounded before they are divided, as in arrays.
    return min(max(float(used) / float(all_), 0.0), 1.0)


def _pair_balance(one: float, other: float) -> int:
    return int((1 - abs((one - other) / 2)) * BEST)
