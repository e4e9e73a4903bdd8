"""Every node has a slot, which it keeps as long as it exists: its place in every column.

A set of nodes is a whole number in which bit i stands for the node in slot i: Python combines such
sets faster than arrays, as long as nothing is counted per node.
"""

from collections.abc import Iterable
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

STEP = 64
"""Columns grow by at least so many slots, and by an eighth when they are long."""
FEW = 16

Slots = NDArray[np.intp]


class NodeIndex:
    def __init__(self) -> None:
        self._slots: dict[str, int] = {}
        self._free: list[int] = []
        self._used = 0
        self._ranks: NDArray[np.int64] | None = None
        self._by_name: NDArray[np.intp] | None = None
        self._is_sorted = False
        self.names: list[str] = []
        """By slot; empty where there is no node."""
        self.alive = 0
        """The slots that have a node, as bits."""
        self.size = 0
        """The length of all columns: some slots at the end have never had a node."""

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, name: str) -> bool:
        return name in self._slots

    def find(self, name: str) -> int | None:
        return self._slots.get(name)

    def add(self, name: str) -> int:
        slot = heappop(self._free) if self._free else self._next()
        self._slots[name] = slot
        self.names[slot] = name
        self.alive |= 1 << slot
        self._ranks = self._by_name = None
        return slot

    def remove(self, name: str) -> int:
        slot = self._slots.pop(name)
        self.names[slot] = ""
        self.alive ^= 1 << slot
        heappush(self._free, slot)
        self._ranks = self._by_name = None
        return slot

    def _next(self) -> int:
        slot, self._used = self._used, self._used + 1
        if self._used > self.size:
            self.size += max(STEP, self.size // 8)
            self.names += [""] * (self.size - len(self.names))
        return slot

    @property
    def ranks(self) -> NDArray[np.int64]:
        """By slot, the place of the node's name among all names."""
        if self._ranks is None or len(self._ranks) != self.size:
            self._ranks = np.full(self.size, self.size, np.int64)
            self._ranks[self.by_name] = np.arange(len(self.by_name))
        return self._ranks

    @property
    def by_name(self) -> NDArray[np.intp]:
        """The slots of all nodes, in the order of their names."""
        if self._by_name is None:
            slots = [self._slots[name] for name in sorted(self._slots)]
            self._by_name = np.array(slots, np.intp)
            self._is_sorted = slots == sorted(slots)
        return self._by_name

    @property
    def is_sorted(self) -> bool:
        """Whether slots are in the order of names. A server lists nodes by name, so they mostly
        are, until the first node comes later."""
        return len(self.by_name) > 0 and self._is_sorted

    def fork(self) -> "NodeIndex":
        twin = NodeIndex()
        twin._slots, twin._free, twin._used = self._slots.copy(), self._free.copy(), self._used
        twin.names, twin.alive, twin.size = self.names.copy(), self.alive, self.size
        return twin


class NodeColumn:
    """A whole number for each slot; slots without a value have the `fill`."""

    def __init__(self, index: NodeIndex, fill: int) -> None:
        self._index = index
        self._fill = fill
        self._values = np.full(index.size, fill, np.int64)

    @property
    def values(self) -> NDArray[np.int64]:
        """Indexed by slot. Read it anew each time: a longer one replaces it when nodes come."""
        missing = self._index.size - len(self._values)
        if missing:
            self._values = np.append(self._values, np.full(missing, self._fill, np.int64))
        return self._values

    def fork(self, index: NodeIndex) -> "NodeColumn":
        twin = NodeColumn(index, self._fill)
        twin._values = self.values.copy()
        return twin


class NodeTable:
    """Some rows of whole numbers over all slots, zero where nothing was written."""

    def __init__(self, index: NodeIndex, rows: int) -> None:
        self._index = index
        self._values = np.zeros((rows, index.size), np.int64)

    @property
    def values(self) -> NDArray[np.int64]:
        """Indexed by row and slot."""
        rows, size = self._values.shape
        if size != self._index.size:
            more = np.zeros((rows, self._index.size - size), np.int64)
            self._values = np.concatenate([self._values, more], axis=1)
        return self._values

    def fork(self, index: NodeIndex) -> "NodeTable":
        twin = NodeTable(index, 0)
        twin._values = self.values.copy()
        return twin


def mask_of(bits: int, size: int) -> NDArray[np.bool_]:
    """One boolean for each of `size` slots."""
    raw = np.frombuffer(bits.to_bytes((size + 7) // 8, "little"), np.uint8)
    return np.unpackbits(raw, count=size, bitorder="little").view(np.bool_)


def weighted_sum(parts: Iterable[tuple[int, int]], index: NodeIndex) -> NDArray[np.int64] | None:
    """By slot, the sum of the weights of all sets of nodes that the node is in; parts are weights
    and sets. None: no node is in any."""
    total: NDArray[np.int64] | None = None
    for weight, bits in parts:
        if not bits & index.alive:
            continue
        part = mask_of(bits & index.alive, index.size) * np.int64(weight)
        total = part if total is None else total + part
    return total


def slots_of(bits: int) -> list[int]:
    """In rising order."""
    if bits.bit_count() > FEW:
        return list(map(int, np.flatnonzero(mask_of(bits, bits.bit_length()))))
    found = []
    while bits:
        slot = bits.bit_length() - 1
        found.append(slot)
        bits ^= 1 << slot
    return found[::-1]
