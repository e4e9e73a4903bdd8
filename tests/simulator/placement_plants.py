"""Bugs in where the scheduler puts pods, and whom it sends away; see `plants`."""

from plimsoll.decide.scheduling.columns.nodes import Slots
from plimsoll.decide.scheduling.columns.resources import Demands
from plimsoll.decide.scheduling.preemption.freed_nodes import FreedNodes
from plimsoll.decide.scheduling.preemption.preemptor import RESOURCES, NodeSearch
from plimsoll.decide.scheduling.preemption.resource_search import ResourceSearch
from plimsoll.decide.scheduling.rules.inter_pod_affinity.all_nodes import InterPodAffinityColumns
from plimsoll.decide.scheduling.rules.pod_topology_spread.columns import TopologySpreadColumns


def put_pods_together() -> None:
    """Which pods others avoid is not looked at."""
    assert hasattr(InterPodAffinityColumns, "_blocked")
    setattr(InterPodAffinityColumns, "_blocked", lambda *_: None)  # noqa: B010 - a plant


def ignore_the_skew() -> None:
    """Pods go where there are too many of their kind already."""
    assert hasattr(TopologySpreadColumns, "_blocked")
    setattr(TopologySpreadColumns, "_blocked", lambda *_: None)  # noqa: B010 - a plant


def evict_equals() -> None:
    """Pods leave for others that are as important."""
    search = ResourceSearch.of

    def with_equals(self: ResourceSearch, demands: Demands, priority: int) -> FreedNodes:
        return search(self, demands, priority + 1)

    setattr(ResourceSearch, "of", with_equals)  # noqa: B010 - a plant


def evict_where_volumes_are_out_of_reach() -> None:
    """Pods leave nodes that lack more than resources."""
    assert hasattr(NodeSearch, "_equal_by_resources")

    def short_of_resources(self: NodeSearch) -> Slots:
        return self.freed.best_of(self.judged.flags & RESOURCES == 0)

    setattr(NodeSearch, "_equal_by_resources", short_of_resources)  # noqa: B010 - a plant
