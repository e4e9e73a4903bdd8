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
    UNBALANCE_ROW,
    Demands,
    Load,
    NodeResources,
    ResourceRows,
    pair_balance,
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
        return scores(demands, resources.usual, is_whole=resources.is_whole)
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


def scores(
    demands: Demands, rows: NDArray[np.int64], *, is_whole: bool | None = None
) -> NDArray[np.int64] | int:
    """The same for cpu and memory. `is_whole`: whether all nodes have some of both; None: it is not
    known."""
    if not any(demands.compared):
        return 0
    all_ = rows[COMPARED_ROWS]
    if is_whole is None:
        is_whole = bool(np.minimum.reduce(all_, axis=None, initial=1) > 0)
    # When the pod has come, by cpu and memory and by node.
    shares = rows[COMPARED_USED_ROWS] + demands.compared_rows
    shares = shares / (all_ if is_whole else np.maximum(all_, 1))
    # A request beyond 64 bits may have wrapped around to less than nothing: it counts as nothing.
    np.maximum(shares, 0.0, out=shares)
    np.minimum(shares, 1.0, out=shares)
    # In place: for few nodes every array that is made takes as long as the sum.
    balances = shares[0]
    balances -= shares[1]
    np.abs(balances, out=balances)
    balances *= 0.5
    if not is_whole:
        balances *= np.logical_and.reduce(all_ > 0, axis=0)
    np.subtract(1.0, balances, out=balances)
    balances *= BEST
    # Never negative: what follows is (50 + (50 + after - before) / 2), both between 50 and 100.
    total: NDArray[np.int64] = balances.astype(np.int64)
    total += rows[UNBALANCE_ROW]
    total >>= 1
    return total


def score_row(demands: Demands, row: Sequence[int]) -> int:
    """The same for one node; `row` is one of `ResourceColumns`."""
    more_cpu, more_memory = demands.compared
    if not (more_cpu or more_memory):
        return 0
    used_cpu, used_memory = row[COMPARED_USED_ROWS]
    after = pair_balance(row[COMPARED_ROWS], (used_cpu + more_cpu, used_memory + more_memory))
    return (after + row[UNBALANCE_ROW]) // 2
