"""Whether a pod fits beside the others on a node, and how full and how balanced the node would be.

Each rule is here twice: for one node, with its finding, and for many nodes at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.quantity import parse_quantity
from plimsoll.decide.columns.flags import (
    FIRST_SCALAR,
    LAST_SCALAR,
    Blocked,
    Flags,
    NodeSentence,
    Slots,
    flagged,
)
from plimsoll.decide.columns.nodes import Column, NodeIndex
from plimsoll.decide.scheduling.reasons import (
    FIT,
    Finding,
    Judgement,
    Reason,
    Seen,
    unresolvable,
    unschedulable,
)
from plimsoll.decide.scheduling.requests import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    Amounts,
    held_by,
    is_scalar,
    requested_by,
    thought_to_hold,
)

PODS = "pods"
USUAL = (PODS, CPU, MEMORY, EPHEMERAL_STORAGE)
USUAL_FLAGS = (
    Blocked.TOO_MANY_PODS,
    Blocked.CPU,
    Blocked.MEMORY,
    Blocked.EPHEMERAL_STORAGE,
)
BEST = 100
LARGEST = 2**62
"""Larger numbers are cut: columns must be able to add two."""


@dataclass(frozen=True, slots=True)
class Room:
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


NO_ROOM = Room({})


@dataclass(frozen=True, slots=True)
class Demands:
    """What a pod takes of a node."""

    amounts: Mapping[str, int]
    """By resource; one pod among others."""
    thought: tuple[int, int]
    """Thousandths of a cpu, and memory, as nodes are compared by."""

    @classmethod
    def of_waiting(cls, pod: Pod) -> Self:
        """Whoever compares nodes overlooks what a pod that waits asks for as a whole."""
        spec = msgspec.structs.replace(pod.spec, resources=None)
        plain = msgspec.structs.replace(pod, spec=spec)
        return cls(_by_name(requested_by(pod)), thought_to_hold(plain))

    @classmethod
    def of_placed(cls, pod: Pod) -> Self:
        return cls(_by_name(held_by(pod)), thought_to_hold(pod))

    @property
    def scalars(self) -> list[str]:
        return sorted(name for name in self.amounts if name not in USUAL)

    def flags(self) -> list[tuple[str, int, int]]:
        """Every resource that is asked for, how much of it, and the bit for too little of it."""
        named = dict(zip(USUAL, map(int, USUAL_FLAGS), strict=True))
        for number, name in enumerate(self.scalars):
            named[name] = 1 << min(FIRST_SCALAR + number, LAST_SCALAR)
        wanted = ((name, self.amounts.get(name, 0), flag) for name, flag in named.items())
        return [each for each in wanted if each[1] > 0]


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
    thought: tuple[int, int] = (0, 0)

    def add(self, demands: Demands, step: int) -> None:
        for name, amount in demands.amounts.items():
            self.amounts[name] = self.amounts.get(name, 0) + step * amount
        (cpu, memory), (more_cpu, more_memory) = self.thought, demands.thought
        self.thought = (cpu + step * more_cpu, memory + step * more_memory)

    def get(self, name: str) -> int:
        return self.amounts.get(name, 0)

    def fork(self) -> "Load":
        return Load(self.amounts.copy(), self.thought)


def judge(demands: Demands, node: Node, load: Load) -> Judgement:
    room = Room.of(node)
    findings = []
    is_hopeless = False
    for name in (*USUAL, *demands.scalars):
        wanted, all_, used = demands.amounts.get(name, 0), room.get(name), load.get(name)
        if wanted <= 0 or wanted <= all_ - used:
            continue
        # Nobody can be asked to leave a node that was never large enough.
        is_hopeless = is_hopeless or (name != PODS and wanted > all_)
        findings.append(_finding(name, node, wanted, all_ - used))
    if not findings:
        return FIT
    return unresolvable(*findings) if is_hopeless else unschedulable(*findings)


def _finding(name: str, node: Node, wanted: int, seen: int) -> Finding:
    about = Seen("Node", ObjectKey("", node.name))
    if name == PODS:
        reason, sentence = Reason.TOO_MANY_PODS, str(NodeSentence.TOO_MANY_PODS)
    else:
        reason, sentence = Reason.INSUFFICIENT_RESOURCE, f"Insufficient {name}"
    return Finding(reason=reason, sentence=sentence, about=about, wanted=wanted, seen=seen)


def least_allocated(demands: Demands, node: Node, load: Load) -> int:
    """The emptier the better, from 0 to 100."""
    room = Room.of(node)
    scores = []
    for name, held, wanted in zip((CPU, MEMORY), load.thought, demands.thought, strict=True):
        all_ = room.get(name)
        if all_:
            used = held + wanted
            scores.append(0 if used > all_ else (all_ - used) * BEST // all_)
    return sum(scores) // len(scores) if scores else 0


def balanced_allocation(demands: Demands, node: Node, load: Load) -> int:
    """Better where the pod brings the use of cpu and memory closer together."""
    if not is_balancing(demands):
        return 0
    room = Room.of(node)
    after = {name: load.get(name) + demands.amounts.get(name, 0) for name in (CPU, MEMORY)}
    gained = _balance(after, room) - _balance(load.amounts, room)
    return BEST // 2 + int((BEST // 2 + gained) / 2)


def is_balancing(demands: Demands) -> bool:
    """Pods that ask for nothing would all go to the same node."""
    return bool(demands.amounts.get(CPU) or demands.amounts.get(MEMORY))


def _balance(used: Mapping[str, int], room: Room) -> int:
    shares = [
        min(used.get(name, 0) / room.get(name), 1.0) for name in (CPU, MEMORY) if room.get(name)
    ]
    deviation = abs((shares[0] - shares[1]) / 2) if len(shares) == len((CPU, MEMORY)) else 0.0
    return int((1 - deviation) * BEST)


class ResourceColumns:
    """By slot what nodes have, and what is taken of it."""

    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self._all: dict[str, Column] = {}
        self._used: dict[str, Column] = {}
        self._thought = (Column(index, 0), Column(index, 0))
        for name in USUAL:
            self._add_resource(name)

    def _add_resource(self, name: str) -> None:
        self._all[name], self._used[name] = Column(self._index, 0), Column(self._index, 0)

    def write(self, slot: int, room: Room, load: Load) -> None:
        for name in room.amounts.keys() - self._all.keys():
            self._add_resource(name)
        for name, column in self._all.items():
            column.values[slot] = _cut(room.get(name))
        self.write_load(slot, load)

    def write_load(self, slot: int, load: Load) -> None:
        for name in load.amounts.keys() - self._used.keys():
            self._add_resource(name)
        for name, column in self._used.items():
            column.values[slot] = _cut(load.get(name))
        for column, amount in zip(self._thought, load.thought, strict=True):
            column.values[slot] = _cut(amount)

    def clear(self, slot: int) -> None:
        for column in (*self._all.values(), *self._used.values(), *self._thought):
            column.values[slot] = 0

    def blocked(self, demands: Demands, at: Slots | slice) -> Flags:
        """For the slots `at`, in their order."""
        found = np.zeros(len(self._thought[0].values[at]), np.uint64)
        for name, wanted, flag in demands.flags():
            if name in self._all:
                left = self._all[name].values[at] - self._used[name].values[at]
                found |= flagged(left < wanted, flag)
            else:
                found |= np.uint64(flag)
        return found

    def scores(self, demands: Demands, at: Slots | slice) -> NDArray[np.int64]:
        """LeastAllocated and BalancedAllocation together, for the slots `at`."""
        cpu, memory = self._all[CPU].values[at], self._all[MEMORY].values[at]
        has_cpu, has_memory = cpu > 0, memory > 0
        # Where there is nothing the numbers do not matter, but must be numbers.
        cpus, memories = np.maximum(cpu, 1), np.maximum(memory, 1)
        scores = (
            self._least(0, demands, cpus, at) * has_cpu
            + self._least(1, demands, memories, at) * has_memory
        )
        total: NDArray[np.int64] = np.where(has_cpu & has_memory, scores // 2, scores)
        if not is_balancing(demands):
            return total
        before, after = (
            _balances(
                (self._used[CPU].values[at] + more_cpu) / cpus,
                (self._used[MEMORY].values[at] + more_memory) / memories,
                has_cpu & has_memory,
            )
            for more_cpu, more_memory in (
                (0, 0),
                (demands.amounts.get(CPU, 0), demands.amounts.get(MEMORY, 0)),
            )
        )
        # Never negative: both lie between 50 and 100.
        total += BEST // 2 + (BEST // 2 + after - before) // 2
        return total

    def _least(
        self, which: int, demands: Demands, all_: NDArray[np.int64], at: Slots | slice
    ) -> NDArray[np.int64]:
        left = all_ - self._thought[which].values[at] - demands.thought[which]
        score: NDArray[np.int64] = np.maximum(left, 0) * BEST // all_
        return score

    def fork(self, index: NodeIndex) -> "ResourceColumns":
        twin = ResourceColumns(index)
        twin._all = {name: column.fork(index) for name, column in self._all.items()}
        twin._used = {name: column.fork(index) for name, column in self._used.items()}
        cpu, memory = self._thought
        twin._thought = (cpu.fork(index), memory.fork(index))
        return twin


def _balances(
    cpu: NDArray[np.float64], memory: NDArray[np.float64], has_both: NDArray[np.bool_]
) -> NDArray[np.int64]:
    deviation = np.abs((np.minimum(cpu, 1.0) - np.minimum(memory, 1.0)) / 2)
    return ((1 - deviation * has_both) * BEST).astype(np.int64)


def _cut(amount: int) -> int:
    return max(-LARGEST, min(LARGEST, amount))
