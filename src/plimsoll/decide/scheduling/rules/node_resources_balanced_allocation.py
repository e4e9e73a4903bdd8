"""NodeResourcesBalancedAllocation: a node is better where the pod brings the use of its cpu and of
its memory closer together. It refuses no node."""

from collections.abc import Mapping

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
)
from plimsoll.decide.scheduling.pod_requests import CPU, MEMORY

BEST = 100


def score(demands: Demands, node: Node, load: Load) -> int:
    """From 0 to 100."""
    if not is_concerned(demands):
        return 0
    allocatable = NodeResources.of(node)
    after = {name: load.get(name) + demands.amounts.get(name, 0) for name in COMPARED}
    gained = _balance(after, allocatable) - _balance(load.amounts, allocatable)
    return BEST // 2 + int((BEST // 2 + gained) / 2)


def is_concerned(demands: Demands) -> bool:
    """Pods that ask for nothing would all go to the same node."""
    return bool(demands.amounts.get(CPU) or demands.amounts.get(MEMORY))


def _balance(used: Mapping[str, int], allocatable: NodeResources) -> int:
    shares = [
        min(max(used.get(name, 0) / allocatable.get(name), 0.0), 1.0)
        for name in COMPARED
        if allocatable.get(name)
    ]
    deviation = abs((shares[0] - shares[1]) / 2) if len(shares) == len(COMPARED) else 0.0
    return int((1 - deviation) * BEST)


# All nodes at once


def scores(demands: Demands, rows: NDArray[np.int64]) -> NDArray[np.int64] | int:
    """By column of `rows`, which come from `ResourceColumns`."""
    if not is_concerned(demands):
        return 0
    all_ = rows[COMPARED_ROWS]
    # Before and after the pod comes, cpu and memory, nodes.
    # A request beyond 64 bits may have wrapped around to less than nothing: it counts as nothing.
    shares = ((rows[COMPARED_USED_ROWS] + demands.steps) / np.maximum(all_, 1)).clip(0.0, 1.0)
    is_comparable = np.logical_and.reduce(all_ > 0, axis=0)
    deviations = np.abs((shares[:, 0] - shares[:, 1]) / 2) * is_comparable
    before, after = ((1 - deviations) * BEST).astype(np.int64)
    # Never negative: both lie between 50 and 100.
    total: NDArray[np.int64] = BEST // 2 + (BEST // 2 + after - before) // 2
    return total
