"""Who would have to leave each node that lacks nothing but resources.

The same steps as in `victims`: all pods below the priority leave, then they come back one after the
other. Results are kept for pods that ask for the same, and worked out again only for nodes that
changed and can be best.
"""

from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.resources import Demands
from plimsoll.decide.scheduling.preemption.freed_nodes import FreedNodes
from plimsoll.decide.scheduling.preemption.lower_pods import LowerPods

KEPT_PRIORITIES = 4
KEPT_DEMANDS = 64


class ResourceSearch:
    """With what it remembers between pods; belongs to one set of columns."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._lower: KeptResults[int, LowerPods] = KeptResults(KEPT_PRIORITIES)
        self._freed: KeptResults[tuple[object, ...], FreedNodes] = KeptResults(KEPT_DEMANDS)

    def below(self, priority: int) -> LowerPods:
        lower = self._lower.get(priority)
        if lower is None:
            lower = self._lower.keep(priority, LowerPods(priority, self._columns))
        lower.refresh()
        return lower

    def of(self, demands: Demands, priority: int) -> FreedNodes:
        lower = self.below(priority)
        key = priority, demands.fingerprint
        freed = self._freed.get(key)
        if freed is None or freed.lower is not lower:
            freed = self._freed.keep(key, FreedNodes(demands, lower))
        return freed
