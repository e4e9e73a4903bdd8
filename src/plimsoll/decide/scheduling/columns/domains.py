"""Which nodes have the same value of a label, for the labels that rules tell places apart by.

The nodes with one value of a key are a domain: a zone, a rack, or one node. Domains have numbers,
so that a sum over the nodes of each is one step for all of them.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.nodes import NodeColumn, NodeIndex, Slots

NO_DOMAIN = -1
PAIR = 2
FEW, KEPT_MASKS = 32, 64
"""Up to so many domains masks are kept, and how many of them."""

Labels = Mapping[str, str]


class Domains:
    """By the values of one key."""

    def __init__(self, index: NodeIndex) -> None:
        self._numbers = NodeColumn(index, NO_DOMAIN)
        self._by_value: dict[str, int] = {}
        self._values: list[str] = []
        self._sizes: list[int] = []
        self._free: list[int] = []
        self._shared = 0
        """How many domains have more than one node."""
        self._masks: KeptResults[bytes, NDArray[np.bool_]] = KeptResults(KEPT_MASKS)
        """By the domains that are met, see `mask_of`."""

    @property
    def numbers(self) -> NDArray[np.int64]:
        """By slot, the number of the node's domain; NO_DOMAIN where it lacks the key."""
        return self._numbers.values

    @property
    def limit(self) -> int:
        """All numbers are smaller. Some may stand for no domain any more."""
        return len(self._sizes)

    @property
    def are_single(self) -> bool:
        """Whether no domain has more than one node."""
        return not self._shared

    def find(self, value: str) -> int | None:
        return self._by_value.get(value)

    def sums(self, amounts: NDArray[np.int64]) -> NDArray[np.int64]:
        """By number of the domain, the sum over its nodes. Amounts are by slot."""
        return self._added(amounts)[1:]

    def by_value(self, amounts: NDArray[np.int64]) -> dict[str, int]:
        """The sum over the nodes of each domain, where it is not zero. Amounts are by slot."""
        sums = self.sums(amounts)
        found = np.flatnonzero(sums).tolist()
        return {self._values[number]: int(sums[number]) for number in found}

    def spread(self, by_domain: NDArray[np.int64], *, elsewhere: int = 0) -> NDArray[np.int64]:
        """By slot, what holds for the node's domain."""
        # The number of no domain is -1, which finds the last value.
        return np.append(by_domain, elsewhere)[self.numbers]

    def totals(self, amounts: NDArray[np.int64]) -> NDArray[np.int64]:
        """By slot, the sum over all nodes of the node's domain, zero where it lacks the key."""
        return self.spread(self.sums(amounts))

    def having(self, amounts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """By slot, whether any node of the node's domain has an amount that is not zero."""
        if self.are_single:
            has_one: NDArray[np.bool_] = (amounts != 0) & (self.numbers != NO_DOMAIN)
            return has_one
        return self.sharing(np.flatnonzero(amounts))

    def sharing(self, slots: Slots) -> NDArray[np.bool_]:
        """By slot, whether the node is in the domain of a node in one of these slots."""
        is_met = np.zeros(self.limit, np.bool_)
        is_met[self.numbers[self.labelled(slots)]] = True
        return self.mask_of(is_met)

    def labelled(self, slots: Slots) -> Slots:
        """Those of the slots whose nodes have the key."""
        has_key = self.numbers.take(slots) != NO_DOMAIN
        return slots if np.logical_and.reduce(has_key) else slots[has_key]

    def mask_of(self, is_met: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """By slot, whether the node is in a domain that is met, which is by number. Not to be
        written to: where there are few domains the same ones are met again and again."""
        if len(is_met) > FEW:
            return self._spread_mask(is_met)
        pattern = is_met.tobytes()
        mask = self._masks.get(pattern)
        if mask is None or len(mask) != len(self.numbers):
            mask = self._masks.keep(pattern, self._spread_mask(is_met))
        return mask

    def _spread_mask(self, is_met: NDArray[np.bool_]) -> NDArray[np.bool_]:
        # The number of no domain is -1, which finds the last value.
        return np.append(is_met, False).take(self.numbers)

    def _added(self, amounts: NDArray[np.int64]) -> NDArray[np.int64]:
        # Sums of whole numbers below 2**53 are exact.
        found = np.bincount(self.numbers + 1, weights=amounts, minlength=self.limit + 1)
        return found.astype(np.int64)

    def move(self, slot: int, value: str | None) -> None:
        """The node in the slot has another value; None: it lacks the key, or is gone."""
        numbers = self._numbers.values
        old = int(numbers[slot])
        self._masks.clear()
        numbers[slot] = NO_DOMAIN if value is None else self._enter(value)
        if old != NO_DOMAIN:
            self._leave(old)

    def _enter(self, value: str) -> int:
        number = self._by_value.get(value)
        if number is None:
            number = self._number_for(value)
        self._sizes[number] += 1
        self._shared += self._sizes[number] == PAIR
        return number

    def _number_for(self, value: str) -> int:
        if not self._free:
            self._values.append("")
            self._sizes.append(0)
            self._free.append(len(self._sizes) - 1)
        number = self._free.pop()
        self._by_value[value], self._values[number] = number, value
        return number

    def _leave(self, number: int) -> None:
        self._shared -= self._sizes[number] == PAIR
        self._sizes[number] -= 1
        if not self._sizes[number]:
            del self._by_value[self._values[number]]
            self._free.append(number)


class DomainColumns:
    """By key. A key is read from all nodes when it is first asked for."""

    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self._labels: dict[int, Labels] = {}
        self._domains: dict[str, Domains] = {}

    def of(self, key: str) -> Domains:
        domains = self._domains.get(key)
        if domains is None:
            domains = self._domains[key] = Domains(self._index)
            for slot, labels in self._labels.items():
                if key in labels:
                    domains.move(slot, labels[key])
        return domains

    def change(self, slot: int, new: Labels | None) -> None:
        """The labels of a node that is there or comes; None: it goes."""
        old = self._labels.pop(slot, {})
        if new is not None:
            self._labels[slot] = new
        for key, domains in self._domains.items():
            value = None if new is None else new.get(key)
            if old.get(key) != value:
                domains.move(slot, value)

    def fork(self, index: NodeIndex) -> "DomainColumns":
        """Without the domains: they are read again when they are asked for."""
        twin = DomainColumns(index)
        twin._labels = self._labels.copy()
        return twin
