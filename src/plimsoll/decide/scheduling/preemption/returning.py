"""Who cannot come back when every pod below a priority has left a node: the rest are victims.

They come back in their order as long as there is room for the waiting pod as well. `find_leaving`
is about one node and `leaving` about many, with the same answers.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]


def find_leaving(free: Sequence[int], taken: Iterable[Sequence[int]]) -> list[int]:
    """Their places. `free` is by resource, without the waiting pod; `taken` is by place and
    resource, and may say more than `free`."""
    found = []
    for place, amounts in enumerate(taken):
        left = [there - amount for there, amount in zip(free, amounts, strict=False)]
        if min(left) < 0:
            found.append(place)
        else:
            free = left
    return found


def leaving(free: Whole, taken: Whole) -> NDArray[np.bool_]:
    """By place and node. `free` is by resource and node, and is written to; `taken` is by resource,
    place and node."""
    places, nodes = taken.shape[1:]
    found = np.zeros((places, nodes), np.bool_)
    left = np.empty_like(free)
    for place in range(places):
        np.subtract(free, taken[:, place], out=left)
        goes = np.logical_or.reduce(left < 0, axis=0, out=found[place])
        np.copyto(free, left, where=~goes)
    return found
