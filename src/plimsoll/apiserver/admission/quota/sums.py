"""Sums of amounts that amounts can be taken out of again.

A sum is the same whatever was added and taken in which order. Adding quantities is not: the format
is that of the first, and an amount that is far larger than another swallows it.
"""

from collections import Counter

from plimsoll.api.quantity import NANO, Format, Quantity

LARGEST_EXPONENT = 40
"""Amounts up to there are added exactly, as whole numbers; the others, which no cluster has,
one by one, the smallest first."""
FORMATS = (Format.BINARY_SI, Format.DECIMAL_SI, Format.DECIMAL_EXPONENT)
"""A sum is written in the first of these in which one of its amounts is written."""


Written = tuple[int, int, Format]
"""A quantity by what it is made of: those of one value may be written differently."""


class Sum:
    def __init__(self) -> None:
        self._nanos = 0
        self._formats: Counter[Format] = Counter()
        """Of amounts that are not zero."""
        self._huge: Counter[Written] = Counter()

    def add(self, amount: Quantity) -> None:
        self._change(amount, 1)

    def take(self, amount: Quantity) -> None:
        """Which was added before."""
        self._change(amount, -1)

    def _change(self, amount: Quantity, by: int) -> None:
        if not amount.unscaled:
            return
        if NANO <= amount.exponent <= LARGEST_EXPONENT:
            self._nanos += by * amount.unscaled * 10 ** (amount.exponent - NANO)
            self._formats[amount.format] += by
            return
        written = (amount.unscaled, amount.exponent, amount.format)
        self._huge[written] += by
        if not self._huge[written]:
            del self._huge[written]

    @property
    def total(self) -> Quantity:
        found = next((each for each in FORMATS if self._formats[each]), Format.DECIMAL_SI)
        total = Quantity(self._nanos, NANO, found) if self._nanos else Quantity(0)
        for written, number in sorted(self._huge.items(), key=_by_size):
            total += Quantity(written[0] * number, *written[1:])
        return total

    def copy(self) -> "Sum":
        other = Sum()
        other._nanos = self._nanos
        other._formats = self._formats.copy()
        other._huge = self._huge.copy()
        return other


def _by_size(item: tuple[Written, int]) -> tuple[Quantity, Format]:
    return Quantity(*item[0]), item[0][2]
