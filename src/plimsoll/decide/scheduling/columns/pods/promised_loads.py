"""What pods take of the nodes that they were promised, summed up by node.

There are many promises while the victims of many pods are leaving, and every decision asks for all
of them. So sums are kept, and worked out again only for nodes whose promises changed.
"""

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.nodes import NodeIndex, Slots
from plimsoll.decide.scheduling.columns.pods.index import PlacedDemands
from plimsoll.decide.scheduling.columns.pods.nominations import Nominations
from plimsoll.decide.scheduling.columns.pods.ports import host_ports
from plimsoll.decide.scheduling.columns.resources import LARGEST, USUAL, Load

KEPT_PRIORITIES = 8


class PromisedNodes:
    """Those that were promised to pods that are not less important than a priority."""

    def __init__(self, priority: int, nominations: Nominations, demands: PlacedDemands) -> None:
        self._priority = priority
        self._demands = demands
        self._nominations = nominations
        self._position = -1
        self._loads: dict[str, Load] = {}
        self.others: set[str] = set()
        """Nodes where one of the pods might do more to others than take resources."""
        self._arrays: tuple[object, Slots, NDArray[np.int64]] | None = None

    def refresh(self) -> None:
        nominations = self._nominations
        changed = nominations.changes.since(self._position) if self._position >= 0 else None
        if changed is None:
            changed = {*nominations.by_node, *self._loads, *self.others}
        self._position = nominations.changes.position
        for node in changed:
            self._read(node)
        if changed:
            self._arrays = None

    def _read(self, node: str) -> None:
        pods = [pod for pod in self._nominations.on(node) if pod.priority >= self._priority]
        self._loads.pop(node, None)
        self.others.discard(node)
        if any(map(concerns_others, pods)):
            self.others.add(node)
        elif pods:
            load = self._loads[node] = Load()
            for pod in pods:
                load.add(self._demands.of(pod), 1)

    def slots_and_usual(self, index: NodeIndex, stamp: int) -> tuple[Slots, NDArray[np.int64]]:
        """Nodes where pods only take resources, and what they take of the usual ones, by resource
        and node. The stamp is another number whenever nodes came or went."""
        if self._arrays is None or self._arrays[0] != stamp:
            found = {index.find(node): load for node, load in self._loads.items()}
            there = {slot: load for slot, load in found.items() if slot is not None}
            usual = [[min(load.get(name), LARGEST) for name in USUAL] for load in there.values()]
            amounts = np.array(usual, np.int64).reshape(len(there), len(USUAL)).T
            self._arrays = stamp, np.array([*there], np.intp), amounts
        return self._arrays[1:]

    def held_of(self, name: str, index: NodeIndex) -> NDArray[np.int64]:
        """What they take of a resource beside the usual ones, in the same order."""
        held = [load.get(name) for node, load in self._loads.items() if node in index]
        return np.array(held, np.int64)

    def load_on(self, node: str) -> Load | None:
        """What they take of one node; None: nothing, or they do more than that."""
        return self._loads.get(node)

    def __len__(self) -> int:
        return len(self._loads)


class PromisedLoads:
    """Belongs to one set of columns."""

    def __init__(self, nominations: Nominations, demands: PlacedDemands) -> None:
        self._nominations = nominations
        self._demands = demands
        self._kept: KeptResults[int, PromisedNodes] = KeptResults(KEPT_PRIORITIES)

    def of(self, priority: int) -> PromisedNodes:
        kept = self._kept.get(priority)
        if kept is None:
            made = PromisedNodes(priority, self._nominations, self._demands)
            kept = self._kept.keep(priority, made)
        kept.refresh()
        return kept


def concerns_others(pod: Pod) -> bool:
    """Whether a pod on a node might do more to others than take resources."""
    affinity = pod.spec.affinity
    has_terms = affinity is not None and bool(affinity.pod_affinity or affinity.pod_anti_affinity)
    return has_terms or bool(pod.spec.volumes) or bool(host_ports(pod))
