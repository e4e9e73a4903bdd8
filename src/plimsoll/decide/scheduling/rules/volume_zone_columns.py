"""Which nodes are in the zones and regions that volumes are labelled with."""

from collections.abc import Iterable

from plimsoll.decide.scheduling.columns.labels import LabelIndex
from plimsoll.decide.scheduling.rules.volume_zone import NEWER, ZONE_LABELS, ZoneDemand


def outside(demands: Iterable[ZoneDemand], labels: LabelIndex, alive: int) -> int:
    """The nodes that miss a demand, as bits. A node that says nothing misses none."""
    speaking = labels.having_any(ZONE_LABELS) & alive
    inside = speaking
    for demand in demands:
        inside &= _meeting(demand, labels)
    return speaking & ~inside


def _meeting(demand: ZoneDemand, labels: LabelIndex) -> int:
    found = 0
    newer = NEWER.get(demand.label)
    silent = ~labels.having(demand.label)
    for value in demand.values:
        found |= labels.equal_to(demand.label, value)
        if newer is not None:
            found |= labels.equal_to(newer, value) & silent
    return found
