"""Which volume for which claim, when taking the smallest for one after the other leaves a claim
without the volume that only it could have used.

The answer is exact. Claims that cannot be served otherwise come first, then as many claims as
possible, then as little waste as possible, then names.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Option(NamedTuple):
    """A volume that a claim could have."""

    waste: int
    """How much larger it is than what the claim asks for."""
    name: str


def assign(
    options: Sequence[Sequence[Option]], required: Sequence[bool]
) -> tuple[Option | None, ...] | None:
    """For each claim, in their order, what it gets; None: a claim that is `required` cannot be
    served. Of equally good answers the one in which the first claim has the first name wins."""
    names = sorted({option.name for choices in options for option in choices})
    if not names:
        return None if any(required) else (None,) * len(options)
    costs = _Costs(options, names)
    columns = _cheapest(costs.rows(required))
    chosen = [costs.option(row, column) for row, column in enumerate(columns)]
    if any(must and option is None for must, option in zip(required, chosen, strict=True)):
        return None
    return tuple(chosen)


class _Costs:
    """What it costs to give a claim a volume, or nothing, as one number each.

    A number is made so that nothing of lower rank can outweigh one of higher rank. Column i is the
    volume with the i-th name; behind the volumes each claim has a column that means none.
    """

    def __init__(self, options: Sequence[Sequence[Option]], names: Sequence[str]) -> None:
        self._by_column = [
            {names.index(option.name): option for option in choices} for choices in options
        ]
        self._claims, self._names = len(options), len(names)
        # The place of the first claim's name weighs more than those of all others together.
        self._waste_unit = (self._names + 1) ** self._claims
        most = sum(max((o.waste for o in choices), default=0) for choices in options)
        self._unserved = (most + 1) * self._waste_unit
        self._missed = (self._claims + 1) * self._unserved

    def rows(self, required: Sequence[bool]) -> list[list[int]]:
        return [self._row(row, must=must) for row, must in enumerate(required)]

    def option(self, row: int, column: int) -> Option | None:
        return self._by_column[row].get(column)

    def _row(self, row: int, *, must: bool) -> list[int]:
        impossible = self._missed * (self._claims + 1)
        weight = (self._names + 1) ** (self._claims - 1 - row)
        costs = [impossible] * (self._names + self._claims)
        for column, option in self._by_column[row].items():
            costs[column] = option.waste * self._waste_unit + column * weight
        nothing = self._unserved + self._names * weight
        costs[self._names + row] = nothing + (self._missed if must else 0)
        return costs


def _cheapest(costs: Sequence[Sequence[int]]) -> list[int]:
    """For each row a column of its own, so that the sum is smallest. There are no fewer columns
    than rows."""
    prices = _Prices(costs)
    for row in range(len(costs)):
        prices.admit(row)
    by_row = {row: column for column, row in prices.owner.items()}
    return [by_row[row] for row in range(len(costs))]


class _Prices:
    """Rows take columns one after the other. A row that wants a column which has an owner lets the
    owner look elsewhere, along the chain of changes that costs least in all. Prices make sure of
    that: at every time no row could do better with another column than the one it has."""

    def __init__(self, costs: Sequence[Sequence[int]]) -> None:
        self._costs = costs
        self._row_prices = [0] * len(costs)
        self._column_prices = [0] * len(costs[0])
        self.owner: dict[int, int] = {}
        """By column."""

    def admit(self, row: int) -> None:
        extra: dict[int, int] = {}
        came_from: dict[int, int | None] = {}
        settled: list[int] = []
        at_row, at_column = row, None
        while True:
            self._look_around(at_row, at_column, (extra, came_from), settled)
            at_column = min(
                (column for column in extra if column not in settled),
                key=lambda column: (extra[column], column),
            )
            self._pay(row, extra[at_column], extra, settled)
            settled.append(at_column)
            if at_column not in self.owner:
                break
            at_row = self.owner[at_column]
        self._shift(row, at_column, came_from)

    def _look_around(
        self,
        row: int,
        column: int | None,
        found: tuple[dict[int, int], dict[int, int | None]],
        settled: Sequence[int],
    ) -> None:
        """What every open column would cost this row more than the best so far."""
        extra, came_from = found
        for other, cost in enumerate(self._costs[row]):
            if other in settled:
                continue
            more = cost - self._row_prices[row] - self._column_prices[other]
            if other not in extra or more < extra[other]:
                extra[other], came_from[other] = more, column

    def _pay(self, row: int, least: int, extra: dict[int, int], settled: Sequence[int]) -> None:
        self._row_prices[row] += least
        for column in settled:
            self._row_prices[self.owner[column]] += least
            self._column_prices[column] -= least
        for column in extra:
            if column not in settled:
                extra[column] -= least

    def _shift(self, row: int, column: int, came_from: dict[int, int | None]) -> None:
        at: int | None = column
        while at is not None:
            previous = came_from[at]
            self.owner[at] = row if previous is None else self.owner[previous]
            at = previous
