"""Soft locality: nodes near the data of a pod's bound volumes are better, and none is refused.

kube-scheduler knows nothing of the kind; only the default policy asks. A node's score is the mean
over all bound volumes that say where they are cheap to use: 100 where every level of the domain
matches, in proportion where only the wider ones do.

It is weighted like the nodes that a pod prefers itself. How full and how balanced the nodes would
be can weigh no more than that together, so that pods go to their data wherever there is room. A
taint that nodes are to be spared by (`PreferNoSchedule`) weighs more.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import PREFERRED_TOPOLOGY
from plimsoll.decide.preferred_topology import PreferredTopology, find_preferred
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import weighted_sum
from plimsoll.decide.scheduling.view import ClusterView

WEIGHT = 2


def score(claims: Sequence[PersistentVolumeClaim], node: Node, view: ClusterView) -> int:
    """From 0 to 100; 0 where no volume says anything. The claims are bound."""
    scores = [
        preferred.score_at(preferred.matching(node.labels))
        for claim in claims
        if (preferred := _preferred(view.volume(claim.spec.volume_name)))
    ]
    return sum(scores) // len(scores) if scores else 0


def _preferred(volume: PersistentVolume | None) -> PreferredTopology | None:
    text = volume.annotations.get(PREFERRED_TOPOLOGY, "") if volume else ""
    return find_preferred(text)


# All nodes at once


def scores(claims: Sequence[PersistentVolumeClaim], columns: Columns) -> NDArray[np.int64] | None:
    """By slot; None: no volume says anything, or no node is near one."""
    known = columns.volumes.preferred
    if not known:
        return None
    found = [known[name] for claim in claims if (name := claim.spec.volume_name) in known]
    parts = (part for preferred in found for part in _parts(preferred, columns))
    total = weighted_sum(parts, columns.index)
    return None if total is None else total // len(found)


def _parts(preferred: PreferredTopology, columns: Columns) -> Iterator[tuple[int, int]]:
    """What each level adds to the score, and the nodes that it adds to, as bits."""
    near = columns.index.alive
    for number, level in enumerate(preferred.levels, 1):
        for key, value in level:
            near &= columns.labels.equal_to(key, value)
        yield preferred.score_at(number) - preferred.score_at(number - 1), near
