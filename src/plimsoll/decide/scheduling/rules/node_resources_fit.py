"""Whether a pod fits beside the others on a node, and how full and how balanced the node would be.

Each rule is here twice: for one node, with its finding, and for many nodes at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.quantity import parse_quantity
from plimsoll.decide.scheduling.columns.nodes import NodeIndex, NodeTable
from plimsoll.decide.scheduling.flags import (
    FIRST_SCALAR,
    LAST_SCALAR,
    Blocked,
    Flags,
    NodeSentence,
    Slots,
    flagged,
)
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
from plimsoll.decide.scheduling.reasons import (
    FIT,
    Finding,
    Judgement,
    Reason,
    SeenObject,
    unresolvable,
    unschedulable,
)

PODS = "pods"
USUAL = (PODS, CPU, MEMORY, EPHEMERAL_STORAGE)
USUAL_FLAGS = (
    Blocked.TOO_MANY_PODS,
    Blocked.CPU,
    Blocked.MEMORY,
    Blocked.EPHEMERAL_STORAGE,
)
FLAGS_OF_USUAL = np.array([int(flag) for flag in USUAL_FLAGS], np.uint64)
COMPARED = (CPU, MEMORY)
ALL_ROWS, USED_ROWS, NON_ZERO_ROWS = slice(0, 4), slice(4, 8), slice(8, 10)
LOAD_ROWS, ROWS = slice(4, 10), 10
COMPARED_ROWS, COMPARED_USED_ROWS = slice(1, 3), slice(5, 7)
ALL, USED = 0, 1
BEST = 100
LARGEST = 2**62 - 1
"""Larger numbers are cut: the sum of two must still be a number of 64 bits."""


@dataclass(frozen=True, slots=True)
class NodeResources:
    """Amounts by resource; the cpu in thousandths, everything else in whole units."""

    amounts: Mapping[str, int]

    @classmethod
    def of(cls, node: Node) -> Self:
        allocatable = node.status.allocatable
        found = {}
        for name, text in allocatable.items():
            quantity = parse_quantity(text)
            if name in USUAL or is_scalar(name):
                found[name] = quantity.milli_value if name == CPU else quantity.value
        return cls(found)

    def get(self, name: str) -> int:
        return self.amounts.get(name, 0)


NO_RESOURCES = NodeResources({})


@dataclass(frozen=True)
class Demands:
    """What a pod takes of a node."""

    amounts: Mapping[str, int]
    """By resource; one pod among others."""
    non_zero: tuple[int, int]
    """Thousandths of a cpu, and memory, as nodes are compared by."""

    @classmethod
    def of_waiting(cls, pod: Pod) -> Self:
        """Whoever compares nodes overlooks what a pod that waits asks for as a whole."""
        spec = msgspec.structs.replace(pod.spec, resources=None)
        plain = msgspec.structs.replace(pod, spec=spec)
        return cls(_by_name(requested_by(pod)), non_zero_requests(plain))

    @classmethod
    def of_placed(cls, pod: Pod) -> Self:
        return cls(_by_name(held_by(pod)), non_zero_requests(pod))

    @property
    def scalars(self) -> list[str]:
        return sorted(name for name in self.amounts if name not in USUAL)

    @cached_property
    def least_rest(self) -> NDArray[np.int64]:
        """What must be left of the usual resources, as a column. Whoever asks for nothing fits even
        where too much is taken."""
        wanted = (self.amounts.get(name, 0) for name in USUAL)
        return _column(amount if amount > 0 else -2 * LARGEST for amount in wanted)

    @cached_property
    def non_zero_rows(self) -> NDArray[np.int64]:
        return _column(map(_cut, self.non_zero))

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """What is added to the use of cpu and memory: at first nothing, then what the pod takes."""
        wanted = _column(_cut(self.amounts.get(name, 0)) for name in COMPARED)
        return np.stack([wanted * 0, wanted])

    def scalar_flags(self) -> list[tuple[str, int]]:
        """Resources beside the usual ones, with the bit for too little of each."""
        if len(self.amounts) == len(USUAL):
            return []
        bits = enumerate(self.scalars, FIRST_SCALAR)
        flags = [(name, 1 << min(bit, LAST_SCALAR)) for bit, name in bits]
        return [(name, flag) for name, flag in flags if self.amounts[name] > 0]


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


def judge(demands: Demands, node: Node, load: Load) -> Judgement:
    allocatable = NodeResources.of(node)
    findings = []
    is_hopeless = False
    for name in (*USUAL, *demands.scalars):
        wanted, all_, used = demands.amounts.get(name, 0), allocatable.get(name), load.get(name)
        if wanted <= 0 or wanted <= all_ - used:
            continue
        # Nobody can be asked to leave a node that was never large enough.
        is_hopeless = is_hopeless or (name != PODS and wanted > all_)
        findings.append(_finding(name, node, wanted, all_ - used))
    if not findings:
        return FIT
    return unresolvable(*findings) if is_hopeless else unschedulable(*findings)


def _finding(name: str, node: Node, wanted: int, seen: int) -> Finding:
    about = SeenObject("Node", ObjectKey("", node.name))
    if name == PODS:
        reason, sentence = Reason.TOO_MANY_PODS, str(NodeSentence.TOO_MANY_PODS)
    else:
        reason, sentence = Reason.INSUFFICIENT_RESOURCE, f"Insufficient {name}"
    return Finding(reason=reason, sentence=sentence, about=about, wanted=wanted, seen=seen)


def least_allocated(demands: Demands, node: Node, load: Load) -> int:
    """The emptier the better, from 0 to 100."""
    allocatable = NodeResources.of(node)
    scores = []
    for name, held, wanted in zip(COMPARED, load.non_zero, demands.non_zero, strict=True):
        all_ = allocatable.get(name)
        if all_:
            used = held + wanted
            scores.append(0 if used > all_ else (all_ - used) * BEST // all_)
    return sum(scores) // len(scores) if scores else 0


def balanced_allocation(demands: Demands, node: Node, load: Load) -> int:
    """Better where the pod brings the use of cpu and memory closer together."""
    if not is_balancing(demands):
        return 0
    allocatable = NodeResources.of(node)
    after = {name: load.get(name) + demands.amounts.get(name, 0) for name in COMPARED}
    gained = _balance(after, allocatable) - _balance(load.amounts, allocatable)
    return BEST // 2 + int((BEST // 2 + gained) / 2)


def is_balancing(demands: Demands) -> bool:
    """Pods that ask for nothing would all go to the same node."""
    return bool(demands.amounts.get(CPU) or demands.amounts.get(MEMORY))


def _balance(used: Mapping[str, int], allocatable: NodeResources) -> int:
    shares = [
        min(max(used.get(name, 0) / allocatable.get(name), 0.0), 1.0)
        for name in COMPARED
        if allocatable.get(name)
    ]
    deviation = abs((shares[0] - shares[1]) / 2) if len(shares) == len(COMPARED) else 0.0
    return int((1 - deviation) * BEST)


class Verdicts(NamedTuple):
    """For the slots that were asked about, in their order."""

    flags: Flags
    scores: NDArray[np.int64]
    """LeastAllocated and BalancedAllocation together."""


class ResourceColumns:
    """By slot what nodes have, and what is taken of it. The usual resources are rows of one table,
    all others have a table each."""

    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self._usual = NodeTable(index, ROWS)
        self._scalars: dict[str, NodeTable] = {}
        """What there is and what is taken of it."""

    def write(self, slot: int, allocatable: NodeResources, load: Load) -> None:
        self._usual.values[ALL_ROWS, slot] = [_cut(allocatable.get(name)) for name in USUAL]
        for name in allocatable.amounts.keys() - self._scalars.keys() - set(USUAL):
            self._scalars[name] = NodeTable(self._index, 2)
        for name, table in self._scalars.items():
            table.values[ALL, slot] = _cut(allocatable.get(name))
        self.write_load(slot, load)

    def write_load(self, slot: int, load: Load) -> None:
        used = [load.get(name) for name in USUAL]
        self._usual.values[LOAD_ROWS, slot] = [_cut(amount) for amount in (*used, *load.non_zero)]
        if len(load.amounts) > len(USUAL):
            for name in load.amounts.keys() - self._scalars.keys() - set(USUAL):
                self._scalars[name] = NodeTable(self._index, 2)
        for name, table in self._scalars.items():
            table.values[USED, slot] = _cut(load.get(name))

    def clear(self, slot: int) -> None:
        for table in (self._usual, *self._scalars.values()):
            table.values[:, slot] = 0

    def judge(self, demands: Demands, at: Slots | slice) -> Verdicts:
        values = self._usual.values
        rows = values if isinstance(at, slice) else values.take(at, axis=1)
        return Verdicts(self._blocked(demands, rows, at), _scores(demands, rows))

    def _blocked(self, demands: Demands, rows: NDArray[np.int64], at: Slots | slice) -> Flags:
        is_short = rows[ALL_ROWS] - rows[USED_ROWS] < demands.least_rest
        found: Flags = FLAGS_OF_USUAL @ is_short
        for name, flag in demands.scalar_flags():
            table = self._scalars.get(name)
            if table is None:
                found |= np.uint64(flag)
                continue
            spare = table.values[ALL, at] - table.values[USED, at]
            found |= flagged(spare < demands.amounts[name], flag)
        return found

    def fork(self, index: NodeIndex) -> "ResourceColumns":
        twin = ResourceColumns(index)
        twin._usual = self._usual.fork(index)
        twin._scalars = {name: table.fork(index) for name, table in self._scalars.items()}
        return twin


def _scores(demands: Demands, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    all_ = rows[COMPARED_ROWS]
    # Where there is nothing the numbers do not matter, but must be numbers.
    divisors = np.maximum(all_, 1)
    left = np.maximum(all_ - rows[NON_ZERO_ROWS] - demands.non_zero_rows, 0)
    shares = left * BEST // divisors
    is_comparable: NDArray[np.bool_] = np.logical_and.reduce(all_ > 0, axis=0)
    # What a node has none of is left out; the other share then counts alone.
    total: NDArray[np.int64] = shares.sum(axis=0)
    total = np.where(is_comparable, total // 2, total)
    if not is_balancing(demands):
        return total
    # Before and after the pod comes, cpu and memory, nodes.
    # A request beyond 64 bits may have wrapped around to less than nothing: it counts as nothing.
    shares = ((rows[COMPARED_USED_ROWS] + demands.steps) / divisors).clip(0.0, 1.0)
    deviations = np.abs((shares[:, 0] - shares[:, 1]) / 2) * is_comparable
    before, after = ((1 - deviations) * BEST).astype(np.int64)
    # Never negative: both lie between 50 and 100.
    total += BEST // 2 + (BEST // 2 + after - before) // 2
    return total


def _column(amounts: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(amounts), np.int64)[:, None]


def _cut(amount: int) -> int:
    return max(-LARGEST, min(LARGEST, amount))
