"""What nodes have of each resource, what pods ask for, and what is taken of it already.

The cpu is counted in thousandths, everything else in whole units. `ResourceColumns` is by slot, the
other classes are about one node or one pod.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import sub
from typing import Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node
from plimsoll.api.pods import Pod
from plimsoll.api.quantity import parse_quantity
from plimsoll.decide.scheduling.columns.nodes import NodeIndex, NodeTable, Slots
from plimsoll.decide.scheduling.pod_requests import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    Amounts,
    held_by,
    is_scalar,
    non_zero_requests,
    requested_by,
)

PODS = "pods"
USUAL = (PODS, CPU, MEMORY, EPHEMERAL_STORAGE)
COMPARED = (CPU, MEMORY)
ALL_ROWS, USED_ROWS, NON_ZERO_ROWS = slice(0, 4), slice(4, 8), slice(8, 10)
COMPARED_ROWS, COMPARED_USED_ROWS = slice(1, 3), slice(5, 7)
FREE_ROWS, NON_ZERO_FREE_ROWS, UNBALANCE_ROW = slice(10, 14), slice(14, 16), 16
"""What follows from the other rows, worked out once for all pods that ask: what is left of the
usual resources, what is left of cpu and memory as nodes are compared by, and `unbalance`."""
LOAD_ROWS, ROWS = slice(4, 17), 17
ALL, USED = 0, 1
BEST, HALF = 100, 50
LARGEST_AMOUNT = 2**54
"""What one pod counts for at most where pods are summed up: what all pods of a node take must be a
number of 64 bits."""
LARGEST = 2**62 - 1
"""Larger numbers are cut: the sum of two must still be a number of 64 bits."""


@dataclass(frozen=True, slots=True)
class NodeResources:
    """What a node has to give, by resource."""

    amounts: Mapping[str, int]

    @classmethod
    def of(cls, node: Node) -> Self:
        found = {}
        for name, text in node.status.allocatable.items():
            quantity = parse_quantity(text)
            if name in USUAL or is_scalar(name):
                found[name] = quantity.milli_value if name == CPU else quantity.value
        return cls(found)

    def get(self, name: str) -> int:
        return self.amounts.get(name, 0)


@dataclass(frozen=True)
class Demands:
    """What a pod takes of a node."""

    amounts: Mapping[str, int]
    """By resource; one pod among others."""
    non_zero: tuple[int, int]
    """Thousandths of a cpu, and memory, as nodes are compared by."""

    @classmethod
    def of_waiting(cls, pod: Pod) -> Self:
        """When nodes are compared, what a waiting pod asks for as a whole does not count."""
        plain = pod
        if pod.spec.resources is not None:
            spec = msgspec.structs.replace(pod.spec, resources=None)
            plain = msgspec.structs.replace(pod, spec=spec)
        return cls(_by_name(requested_by(pod)), non_zero_requests(plain))

    @classmethod
    def of_placed(cls, pod: Pod) -> Self:
        return cls(_by_name(held_by(pod)), non_zero_requests(pod))

    @property
    def scalars(self) -> list[str]:
        """Resources beside the usual ones."""
        return sorted(name for name in self.amounts if name not in USUAL)

    @cached_property
    def fingerprint(self) -> tuple[tuple[str, int], ...]:
        """The amounts, to be found by."""
        return tuple(sorted(self.amounts.items()))

    @cached_property
    def usual(self) -> tuple[int, ...]:
        """Of the usual resources, not beyond `LARGEST_AMOUNT`."""
        return tuple(min(self.amounts[name], LARGEST_AMOUNT) for name in USUAL)

    @cached_property
    def least(self) -> tuple[int, ...]:
        """What must be left of the usual resources. A pod that asks for nothing fits even where too
        much is taken."""
        wanted = (self.amounts.get(name, 0) for name in USUAL)
        return tuple(amount if amount > 0 else -2 * LARGEST for amount in wanted)

    @cached_property
    def least_rest(self) -> NDArray[np.int64]:
        """The same as a column."""
        return _column(self.least)

    @cached_property
    def compared(self) -> tuple[int, ...]:
        """The cpu and the memory that the pod takes."""
        return tuple(_cut(self.amounts.get(name, 0)) for name in COMPARED)

    @cached_property
    def non_zero_rows(self) -> NDArray[np.int64]:
        return _column(map(_cut, self.non_zero))

    @cached_property
    def compared_rows(self) -> NDArray[np.int64]:
        """The same as a column."""
        return _column(self.compared)


def _by_name(amounts: Amounts) -> dict[str, int]:
    return {
        PODS: 1,
        CPU: amounts.milli_cpu,
        MEMORY: amounts.memory,
        EPHEMERAL_STORAGE: amounts.ephemeral_storage,
        **amounts.scalars,
    }


@dataclass(slots=True)
class Load:
    """What all pods of a node take together."""

    amounts: dict[str, int] = field(default_factory=dict)
    non_zero: tuple[int, int] = (0, 0)

    def add(self, demands: Demands, step: int) -> None:
        for name, amount in demands.amounts.items():
            self.amounts[name] = self.amounts.get(name, 0) + step * amount
        (cpu, memory), (more_cpu, more_memory) = self.non_zero, demands.non_zero
        self.non_zero = (cpu + step * more_cpu, memory + step * more_memory)

    def get(self, name: str) -> int:
        return self.amounts.get(name, 0)

    def fork(self) -> "Load":
        return Load(self.amounts.copy(), self.non_zero)


@dataclass(frozen=True, slots=True)
class ResourceRows:
    """The resources of the nodes in some slots, in the order of `at`."""

    usual: NDArray[np.int64]
    scalars: Mapping[str, NodeTable]
    at: Slots | slice
    is_whole: bool | None = None
    """Whether all these nodes have cpu and memory; None: it is not known."""

    @property
    def length(self) -> int:
        return int(self.usual.shape[1])

    def used_and_all(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """What is taken of a resource, and what there is of it."""
        if name in USUAL:
            place = USUAL.index(name)
            return self.usual[USED_ROWS][place], self.usual[ALL_ROWS][place]
        table = self.scalars.get(name)
        if table is None:
            nothing = np.zeros(self.length, np.int64)
            return nothing, nothing
        return table.values[USED, self.at], table.values[ALL, self.at]


class ResourceColumns:
    """The usual resources are rows of one table, all others have a table each."""

    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self._usual = NodeTable(index, ROWS)
        self.scalars: dict[str, NodeTable] = {}
        """By resource, what there is and what is taken of it."""
        self._partial: set[int] = set()
        """Slots of nodes without cpu or without memory."""

    def at(self, slots: Slots | slice) -> ResourceRows:
        # Some slots may have no node, unless they are named.
        is_whole = None if isinstance(slots, slice) or self._partial else True
        return ResourceRows(self.rows(slots), self.scalars, slots, is_whole)

    def rows(self, at: Slots | slice) -> NDArray[np.int64]:
        """The usual resources of the nodes in some slots, in the order of `at`."""
        values = self._usual.values
        return values if isinstance(at, slice) else values.take(at, axis=1)

    def row(self, slot: int) -> list[int]:
        """The usual resources of one node."""
        row: list[int] = self._usual.values[:, slot].tolist()
        return row

    def write(self, slot: int, allocatable: NodeResources, load: Load) -> None:
        self._usual.values[ALL_ROWS, slot] = [_cut(allocatable.get(name)) for name in USUAL]
        if min(map(allocatable.get, COMPARED)) > 0:
            self._partial.discard(slot)
        else:
            self._partial.add(slot)
        for name in allocatable.amounts.keys() - self.scalars.keys() - set(USUAL):
            self.scalars[name] = NodeTable(self._index, 2)
        for name, table in self.scalars.items():
            table.values[ALL, slot] = _cut(allocatable.get(name))
        self.write_load(slot, load)

    def write_load(self, slot: int, load: Load) -> None:
        values, taken = self._usual.values, load.amounts
        all_: list[int] = values[ALL_ROWS, slot].tolist()
        used, non_zero = [taken.get(name, 0) for name in USUAL], load.non_zero
        if max(*used, *non_zero) > LARGEST or min(*used, *non_zero) < -LARGEST:
            used, non_zero = [*map(_cut, used)], (_cut(non_zero[0]), _cut(non_zero[1]))
        values[LOAD_ROWS, slot] = (
            *used,
            *non_zero,
            *map(sub, all_, used),
            *map(sub, all_[COMPARED_ROWS], non_zero),
            unbalance(all_[COMPARED_ROWS], used[COMPARED_ROWS]),
        )
        if len(load.amounts) > len(USUAL):
            for name in load.amounts.keys() - self.scalars.keys() - set(USUAL):
                self.scalars[name] = NodeTable(self._index, 2)
        for name, table in self.scalars.items():
            table.values[USED, slot] = _cut(load.get(name))

    def clear(self, slot: int) -> None:
        self._partial.add(slot)
        for table in (self._usual, *self.scalars.values()):
            table.values[:, slot] = 0

    def fork(self, index: NodeIndex) -> "ResourceColumns":
        twin = ResourceColumns(index)
        twin._usual, twin._partial = self._usual.fork(index), self._partial.copy()
        twin.scalars = {name: table.fork(index) for name, table in self.scalars.items()}
        return twin


def unbalance(all_: Sequence[int], used: Sequence[int]) -> int:
    """How far apart the use of a node's cpu and memory is, as BalancedAllocation counts: 50 where
    they are even, 100 where one is used up and the other not at all."""
    return HALF + BEST - pair_balance(all_, used)


def pair_balance(all_: Sequence[int], used: Sequence[int]) -> int:
    """From 50 to 100: the more, the more evenly cpu and memory are used."""
    (cpu, memory), (used_cpu, used_memory) = all_, used
    if cpu <= 0 or memory <= 0:
        return BEST
    apart = _share(used_cpu, cpu) - _share(used_memory, memory)
    return int((1 - abs(apart / 2)) * BEST)


def _share(used: int, all_: int) -> float:
    # Numbers with many digits are rounded before they are divided, as in arrays.
    share = float(used) / float(all_)
    return 0.0 if share < 0 else min(share, 1.0)


def _column(amounts: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(amounts), np.int64)[:, None]


def _cut(amount: int) -> int:
    return amount if -LARGEST <= amount <= LARGEST else max(-LARGEST, min(LARGEST, amount))
