"""How many more volumes of each driver a node can have attached, and what CSINodes say besides.

A volume is counted once per node, however many pods use it; what is attached and used by no pod is
counted as well.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.storage import CSINode
from plimsoll.decide.annotations import MIGRATED_PLUGINS
from plimsoll.decide.scheduling.columns.attachables import Attachable, volume_limits
from plimsoll.decide.scheduling.columns.nodes import NodeColumn, NodeIndex

UNLIMITED = 2**62
TIGHT = 16
"""Nodes that can have fewer more volumes of a driver are remembered."""

T = TypeVar("T")


@dataclass(slots=True)
class Holdings:
    """The volumes on one node, with the number of pods and of attachments that hold each."""

    pods: Counter[Attachable] = field(default_factory=Counter)
    attachments: Counter[Attachable] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    """By driver, how many different ones."""

    def count(self, attachable: Attachable, *, pods: int = 0, attachments: int = 0) -> None:
        was_held = attachable in self.pods or attachable in self.attachments
        _step(self.pods, attachable, pods)
        _step(self.attachments, attachable, attachments)
        is_held = attachable in self.pods or attachable in self.attachments
        _step(self.used, attachable.driver, is_held - was_held)

    def fork(self) -> "Holdings":
        return Holdings(self.pods.copy(), self.attachments.copy(), self.used.copy())


def _step(counter: Counter[T], key: T, step: int) -> None:
    if not step:
        return
    number = counter.get(key, 0) + step
    if number:
        counter[key] = number
    else:
        del counter[key]


class AttachColumns:
    """By slot. Nodes that do not exist are left out: their holdings wait for them to come."""

    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self._csi_nodes: dict[str, CSINode] = {}
        self._holdings: dict[str, Holdings] = {}
        self._own: set[str] = set()
        self._users: dict[Attachable, set[str]] = {}
        self._left: dict[str, NodeColumn] = {}
        self._tight: dict[str, set[int]] = {}
        """By driver, the slots of nodes that can have less than TIGHT more."""
        self.installed: dict[str, int] = {}
        """By driver, the nodes that have it, as bits."""
        self.migrated: dict[str, int] = {}
        """By in-tree plugin, the nodes that leave it to its driver."""
        self.present = 0
        """Nodes with a CSINode, as bits."""
        self.limited = 0
        """Nodes where any driver has a limit."""
        self.stamp = 0
        """Another number whenever a CSINode that counts may be another."""

    def csi_node(self, name: str) -> CSINode | None:
        return self._csi_nodes.get(name)

    def is_limited(self, driver: str) -> bool:
        return driver in self._left

    def put_csi_node(self, csi_node: CSINode) -> None:
        name = csi_node.name
        slot = self._index.find(name)
        if slot is not None:
            self._clear(slot, self._csi_nodes.get(name))
            self._write(slot, csi_node)
        self._csi_nodes[name] = csi_node

    def remove_csi_node(self, name: str) -> None:
        csi_node = self._csi_nodes.pop(name, None)
        slot = self._index.find(name)
        if csi_node is not None and slot is not None:
            self._clear(slot, csi_node)

    def add_node(self, name: str, slot: int) -> None:
        if csi_node := self._csi_nodes.get(name):
            self._write(slot, csi_node)

    def remove_node(self, name: str, slot: int) -> None:
        self._clear(slot, self._csi_nodes.get(name))

    def count_pod(self, node: str, attachables: Iterable[Attachable], step: int) -> None:
        """`step` is 1 for a pod that comes, -1 for one that goes."""
        holdings = self._own_holdings(node)
        for attachable in attachables:
            holdings.count(attachable, pods=step)
            users = self._users.setdefault(attachable, set())
            if attachable in holdings.pods:
                users.add(node)
            else:
                users.discard(node)
            if not users:
                del self._users[attachable]
            self._write_left(node, attachable.driver)

    def count_attachment(self, node: str, attachable: Attachable, step: int) -> None:
        holdings = self._own_holdings(node)
        holdings.count(attachable, attachments=step)
        self._write_left(node, attachable.driver)

    def _own_holdings(self, node: str) -> Holdings:
        """Forks share what neither has changed."""
        if node not in self._own:
            self._own.add(node)
            held = self._holdings.get(node)
            self._holdings[node] = Holdings() if held is None else held.fork()
        return self._holdings[node]

    def exceeding_limits(self, new: frozenset[Attachable]) -> NDArray[np.bool_] | None:
        """By slot, whether volumes that a pod needs would be too many; None: nowhere."""
        wanted: dict[str, int] = {}
        for attachable in new:
            wanted[attachable.driver] = wanted.get(attachable.driver, 0) + 1
        if not any(number > TIGHT or self._tight.get(name) for name, number in wanted.items()):
            return None
        full = np.zeros(self._index.size, np.bool_)
        for driver, number in wanted.items():
            if driver in self._left:
                full |= self._left[driver].values < number
        for slot, name in self._sharing(new):
            holdings = self._holdings[name]
            rest = Counter(volume.driver for volume in new if volume not in holdings.pods)
            full[slot] = any(
                self._left[driver].values[slot] < number
                for driver, number in rest.items()
                if driver in self._left
            )
        return full

    def _sharing(self, new: frozenset[Attachable]) -> list[tuple[int, str]]:
        """The nodes on which a pod uses one of the volumes already."""
        names = {name for volume in new for name in self._users.get(volume, ())}
        found = ((self._index.find(name), name) for name in names)
        return [(slot, name) for slot, name in found if slot is not None]

    def _write(self, slot: int, csi_node: CSINode) -> None:
        bit = 1 << slot
        self.stamp += 1
        self.present |= bit
        for driver in csi_node.spec.drivers or ():
            self.installed[driver.name] = self.installed.get(driver.name, 0) | bit
        for plugin in _migrated_plugins(csi_node):
            self.migrated[plugin] = self.migrated.get(plugin, 0) | bit
        limits = volume_limits(csi_node)
        if limits:
            self.limited |= bit
        holdings = self._holdings.get(csi_node.name) or Holdings()
        for driver_name, limit in limits.items():
            if driver_name not in self._left:
                self._left[driver_name] = NodeColumn(self._index, UNLIMITED)
            self._set_left(slot, driver_name, limit - holdings.used[driver_name])

    def _clear(self, slot: int, csi_node: CSINode | None) -> None:
        if csi_node is None:
            return
        rest = ~(1 << slot)
        self.stamp += 1
        self.present &= rest
        self.limited &= rest
        _clear_bits(self.installed, (d.name for d in csi_node.spec.drivers or ()), rest)
        _clear_bits(self.migrated, _migrated_plugins(csi_node), rest)
        for driver in volume_limits(csi_node):
            self._set_left(slot, driver, UNLIMITED)

    def _write_left(self, node: str, driver: str) -> None:
        slot = self._index.find(node)
        limit = volume_limits(self._csi_nodes.get(node)).get(driver)
        if slot is not None and limit is not None:
            self._set_left(slot, driver, limit - self._holdings[node].used[driver])

    @property
    def is_tight(self) -> bool:
        """Whether some node can have less than TIGHT more volumes of a driver."""
        return any(self._tight.values())

    def _set_left(self, slot: int, driver: str, number: int) -> None:
        self._left[driver].values[slot] = number
        if number < TIGHT:
            self._tight.setdefault(driver, set()).add(slot)
        elif driver in self._tight:
            self._tight[driver].discard(slot)

    def fork(self, index: NodeIndex) -> "AttachColumns":
        twin = AttachColumns(index)
        twin._csi_nodes = self._csi_nodes.copy()
        twin._holdings = {name: held for name, held in self._holdings.items() if held.used}
        self._own = set()
        twin._users = {volume: names.copy() for volume, names in self._users.items()}
        twin._left = {driver: column.fork(index) for driver, column in self._left.items()}
        twin._tight = {driver: slots.copy() for driver, slots in self._tight.items()}
        twin.installed, twin.migrated = self.installed.copy(), self.migrated.copy()
        twin.present, twin.limited, twin.stamp = self.present, self.limited, self.stamp
        return twin


def _migrated_plugins(csi_node: CSINode) -> list[str]:
    return csi_node.annotations.get(MIGRATED_PLUGINS, "").split(",")


def _clear_bits(bits_by_name: dict[str, int], names: Iterable[str], rest: int) -> None:
    for name in set(names):
        bits_by_name[name] &= rest
        if not bits_by_name[name]:
            del bits_by_name[name]
