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
"""The key of a node that will not do, give or take what it scores."""
HOPELESS = NOT_FEASIBLE // 2
"""All keys of nodes that will do are higher, refused ones as well."""
RANK_BITS = 20
"""Keys end in the place of the node's name: no cluster has more nodes than these bits can count."""
STATIC_BITS = RANK_BITS + 20
"""A volume that exists weighs more than any score: the weights of a profile are 500 together, and
those of classes can make tenfold of it, of 100 each."""
HEADROOM_BITS = 52
"""That too little capacity would be left weighs more than any number of volumes that exist."""
REFUSED_BITS = 53
"""A refusal weighs more than all of these."""
LISTED = 1024
"""Of so many nodes the equal ones are listed at once."""
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
        if slot is not None and later[slot] > HOPELESS:
            later[slot] -= min(step, MOST_STEPS) << REFUSED_BITS
    return later


def pick(keys: NDArray[np.int64], index: NodeIndex, turn: int) -> int | None:
    """A slot; None: no node will do. Keys end in the rank of the node's name, see `Judged.keys`."""
    best = int(keys.argmax())
    highest = keys.item(best)
    if highest <= HOPELESS:
        return None
    ranks = index.ranks
    is_equal = keys > highest + ranks.item(best) - (1 << RANK_BITS)
    count = int(np.count_nonzero(is_equal))
    if count == 1:
        return best
    place = turn % count
    if index.is_sorted:
        return _find_nth(is_equal, place)
    if count > len(keys) // 4:
        by_name = index.by_name
        return int(by_name[_find_nth(is_equal.take(by_name), place)])
    equal = is_equal.nonzero()[0]
    return int(equal[ranks[equal].argpartition(place)[place]])


def _find_nth(mask: NDArray[np.bool_], place: int) -> int:
    """Where it is true for so many times and once more. To list all places takes longer than to
    count: in a fresh cluster thousands of nodes are equal."""
    first, last = 0, len(mask)
    while last - first > LISTED:
        middle = (first + last) // 2
        before = int(np.count_nonzero(mask[first:middle]))
        if place < before:
            last = middle
        else:
            first, place = middle, place - before
    return first + int(mask[first:last].nonzero()[0][place])
