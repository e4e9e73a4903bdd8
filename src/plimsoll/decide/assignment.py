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
        self._name_unit = 1
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
    than rows. Rows are added one by one, each along the cheapest path of changes."""
    width = len(costs[0])
    row_prices, column_prices = [0] * len(costs), [0] * width
    owner: list[int | None] = [None] * width
    for row in range(len(costs)):
        _add_row(row, costs, (row_prices, column_prices), owner)
    found = [0] * len(costs)
    for column, row_of in enumerate(owner):
        if row_of is not None:
            found[row_of] = column
    return found


def _add_row(
    row: int,
    costs: Sequence[Sequence[int]],
    prices: tuple[list[int], list[int]],
    owner: list[int | None],
) -> None:
    row_prices, column_prices = prices
    width = len(column_prices)
    distance: list[int | None] = [None] * width
    before: list[int | None] = [None] * width
    visited: list[int] = []
    at_row, at_column = row, None
    while True:
        reached = distance[at_column] if at_column is not None else 0
        for column in range(width):
            if column in visited:
                continue
            step = costs[at_row][column] - row_prices[at_row] - column_prices[column]
            far = (reached or 0) + step
            known = distance[column]
            if known is None or far < known:
                distance[column], before[column] = far, at_column
        at_column = min(
            (c for c in range(width) if c not in visited), key=lambda c: (distance[c] or 0, c)
        )
        visited.append(at_column)
        next_row = owner[at_column]
        if next_row is None:
            break
        at_row = next_row
    _raise_prices(row, prices, distance, visited, owner)
    _shift(at_column, row, before, owner)
