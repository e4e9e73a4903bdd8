"""The last step of a decision: of all nodes that will do, one.

The best key wins. Of nodes with equal keys the next attempt takes the next one by name, and pods
begin at different ones, so that a choice which came to nothing is not made again. Nodes that were
refused to the pod come after all others, whatever speaks for them; the least recently refused of
them comes first. The same keys, pod and attempt give the same node.
"""

from collections.abc import Iterable
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.nodes import NodeIndex

NOT_FEASIBLE = -(2**62)
"""The key of a node that will not do."""
RANK_BITS = 24
"""Keys end in the place of the node's name: no cluster has more nodes than these bits can count."""
STATIC_BITS = RANK_BITS + 16
"""A volume that exists weighs more than any score."""
REFUSED_BITS = 53
"""A refusal weighs more than any score and any number of volumes that exist."""
MOST_STEPS = 255
"""So many refusals can be told apart before keys leave 64 bits."""


def turn_of(pod: Pod, attempt: int) -> int:
    """Which of equal nodes it is to be: pods differ by their uid, attempts by one."""
    return crc32(pod.metadata.uid.encode()) + attempt


def put_back(
    keys: NDArray[np.int64], refused: Iterable[str], index: NodeIndex
) -> NDArray[np.int64]:
    """Keys in which refused nodes, the least recent first, come after all others."""
    later = keys.copy()
    for step, name in enumerate(refused, 1):
        slot = index.find(name)
        if slot is not None and later[slot] != NOT_FEASIBLE:
            later[slot] -= min(step, MOST_STEPS) << REFUSED_BITS
    return later


def pick(keys: NDArray[np.int64], index: NodeIndex, turn: int) -> int | None:
    """A slot; None: no node will do. Keys end in the rank of the node's name, see `Judged.keys`."""
    best = int(keys.argmax())
    highest = int(keys[best])
    if highest == NOT_FEASIBLE:
        return None
    is_equal = keys > highest + int(index.ranks[best]) - (1 << RANK_BITS)
    count = int(np.count_nonzero(is_equal))
    if count == 1:
        return best
    by_name = index.by_name
    return int(by_name[is_equal[by_name]][turn % count])
