"""Sizes and amounts as Kubernetes writes them: "10Gi", "250m", "1e3".

A Quantity answers exactly as the Kubernetes API does, down to the way its numbers leave the range
of 64 bits, because clients compare the texts. Decisions want `parse_bytes` and `parse_millis`:
whole numbers, rounded up, that never wrap around.

Whatever a text says, no number is worked out that is longer than about WRITTEN_DIGITS digits: a
short text such as "1e999999999" names a number that would take hours to write out.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, total_ordering
from typing import Self

MAX_INT64 = 2**63 - 1
NANO, MILLI, UNIT = -9, -3, 0
INT64_DIGITS = 18
BEYOND_64_BITS = 64
"""Any number times this power of ten, other than zero, overflows, and its lower 64 bits are 0."""
WRITTEN_DIGITS = 1000
"""Longer numbers are refused, or not worked out to the last digit: no claim means them, and a
request full of them would hold the server for seconds."""
RANKED_DIGITS = 20
"""More than the 64-bit form has, and only that form has an exponent beyond WRITTEN_DIGITS."""

FORMAT_WRONG = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
NOT_A_NUMBER = "unable to parse numeric part of quantity"
NOT_A_SUFFIX = "unable to parse quantity's suffix"
TOO_LARGE = f"quantities must have at most {WRITTEN_DIGITS} digits before the decimal point"

# Possessive: a text that does not match is read once, not once for each of its digits.
QUANTITY = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[-+]?[0-9]*+)")
EXPONENT_SUFFIX = re.compile(r"[eE]([-+]?[0-9]+)")
SIMPLE_SIZE = re.compile(r"(0|[1-9][0-9]{0,11})(Ki|Mi|Gi|k|M|G|)")

DECIMAL_SUFFIXES = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
DECIMAL_BY_EXPONENT = {exponent: suffix for suffix, exponent in DECIMAL_SUFFIXES.items()}
BINARY_BY_EXPONENT = {0: ""} | {bits: suffix for suffix, bits in BINARY_SUFFIXES.items()}
SIMPLE_FACTORS = {
    "": 1,
    "k": 1000,
    "M": 1000**2,
    "G": 1000**3,
    "Ki": 1024,
    "Mi": 1024**2,
    "Gi": 1024**3,
}


class Format(StrEnum):
    """How a quantity was written, and will be written again."""

    DECIMAL_SI = "DecimalSI"
    DECIMAL_EXPONENT = "DecimalExponent"
    BINARY_SI = "BinarySI"


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """The number `unscaled * 10**exponent`."""

    unscaled: int
    exponent: int = 0
    format: Format = Format.DECIMAL_SI
    is_wide: bool = False
    """Too large or too precise for the 64-bit form; it then rounds and overflows differently."""
    text: str = ""
    """The text it was read from, where the API gives that back unchanged."""

    @property
    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)

    @property
    def value(self) -> int:
        """Whole units, rounded up, in 64 bits; see `parse_bytes` for one that does not wrap."""
        return self._in_64_bits(UNIT)

    @property
    def milli_value(self) -> int:
        """Thousandths, rounded up, in 64 bits; see `parse_millis` for one that does not wrap."""
        return self._in_64_bits(MILLI)

    @property
    def rank(self) -> int:
        """A whole number that sorts like the quantity: its thousand millionths where those can be
        written out, and beyond that a number that is larger than all of them."""
        shift = self.exponent - NANO
        if not self.unscaled or shift <= WRITTEN_DIGITS:
            return _in_nanos(self.unscaled, min(self.exponent, WRITTEN_DIGITS))
        missing = RANKED_DIGITS - len(str(abs(self.unscaled)))
        leading = abs(self.unscaled) * _power_of_ten(missing)
        distance = (shift - missing) * _power_of_ten(RANKED_DIGITS) + leading
        return self.sign * (_power_of_ten(2 * WRITTEN_DIGITS - 1) + distance)

    @property
    def canonical(self) -> str:
        """No fraction, and the largest suffix that loses nothing."""
        if self.unscaled == 0:
            return "0"
        if self.format is Format.BINARY_SI:
            number = self._whole()
            if number is not None and abs(number) >= 1024:  # noqa: PLR2004  smaller has no suffix
                return _binary_text(number)
        return self._decimal_text()

    def __str__(self) -> str:
        return self.text or self.canonical

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and _compare(self, other) == 0

    def __lt__(self, other: Self) -> bool:
        return _compare(self, other) < 0

    def __hash__(self) -> int:
        return hash(_without_zeros(self.unscaled, self.exponent))

    def __neg__(self) -> "Quantity":
        return Quantity(-self.unscaled, self.exponent, self.format, self.is_wide)

    def __add__(self, other: "Quantity") -> "Quantity":
        """The format is that of the left side, unless that is zero."""
        format_ = self.format if self.unscaled else other.format
        if not (self.is_wide or other.is_wide) and 0 in (self.unscaled, other.unscaled):
            kept = self if self.unscaled or not other.unscaled else other
            return Quantity(kept.unscaled, kept.exponent, format_)
        if _too_far_apart(self, other):
            larger = max(self, other, key=lambda side: (side.sign != 0, _magnitude(side)))
            return Quantity(larger.unscaled, larger.exponent, larger.format, is_wide=True)
        left, right, exponent = _aligned(self, other)
        overflows = max(map(abs, (left, right, left + right))) > MAX_INT64
        is_wide = self.is_wide or other.is_wide or overflows
        return Quantity(left + right, exponent, format_, is_wide)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return self + -other

    def rounded_up(self, exponent: int) -> int:
        """How many times `10**exponent` covers it, away from zero, at most what 64 bits hold."""
        shift = self.exponent - exponent
        if shift > 0:
            number = self.unscaled * _power_of_ten(min(shift, BEYOND_64_BITS))
        else:
            number = _divided_away_from_zero(self.unscaled, -shift)
        return max(-MAX_INT64, min(MAX_INT64, number))

    def _in_64_bits(self, exponent: int) -> int:
        shift = self.exponent - exponent
        if self.is_wide:
            return _wide_in_64_bits(self.unscaled, shift)
        if shift < 0:
            return _divided_away_from_zero(self.unscaled, -shift)
        number = self.unscaled * _power_of_ten(min(shift, BEYOND_64_BITS))
        # The API multiplies by these powers in one step and lets the result wrap around;
        # by all others in several steps, and gives up with zero.
        wraps = shift in (0, 1, 2, 3, 6, 9)
        return _wrapped(number) if wraps or abs(number) <= MAX_INT64 else 0

    def _whole(self) -> int | None:
        if self.exponent >= 0:
            return self.unscaled * _power_of_ten(self.exponent)
        number, rest = divmod(self.unscaled, _power_of_ten(-self.exponent))
        return None if rest else number

    def _decimal_text(self) -> str:
        number, exponent = _without_zeros(self.unscaled, self.exponent)
        if self.format is not Format.DECIMAL_EXPONENT:
            # Larger than any suffix: the API would drop the suffix and change the number.
            excess = max(exponent - max(DECIMAL_BY_EXPONENT), 0)
            number, exponent = number * _power_of_ten(excess), exponent - excess
        number, exponent = number * _power_of_ten(exponent % 3), exponent - exponent % 3
        if self.format is not Format.DECIMAL_EXPONENT:
            return f"{number}{DECIMAL_BY_EXPONENT[exponent]}"
        return f"{number}e{exponent}" if exponent else str(number)


def _power_of_ten(exponent: int) -> int:
    return int(10**exponent)


def _binary_text(number: int) -> str:
    bits = 0
    while number % 1024 == 0 and bits < max(BINARY_BY_EXPONENT):
        number, bits = number // 1024, bits + 10
    return f"{number}{BINARY_BY_EXPONENT[bits]}"


def _without_zeros(number: int, exponent: int) -> tuple[int, int]:
    """The same number with the zeros at its end moved into the power of ten."""
    if number == 0:
        return 0, 0
    written = str(number)
    digits = written.rstrip("0")
    return int(digits), exponent + len(written) - len(digits)


def _wrapped(number: int) -> int:
    """What 64 bits keep of a number."""
    return (number + 2**63) % 2**64 - 2**63


def _divided_away_from_zero(number: int, digits: int) -> int:
    if digits > WRITTEN_DIGITS:
        return (number > 0) - (number < 0)
    quotient = -(-abs(number) // _power_of_ten(digits))
    return quotient if number >= 0 else -quotient


def _in_nanos(number: int, exponent: int) -> int:
    shift = exponent - NANO
    return number * _power_of_ten(shift) if shift >= 0 else _divided_away_from_zero(number, -shift)


def _wide_in_64_bits(number: int, shift: int) -> int:
    """The API rounds wide numbers up by adding one, whatever their sign."""
    if shift >= 0:
        return _wrapped(number * _power_of_ten(min(shift, BEYOND_64_BITS)))
    if number < MAX_INT64 and -shift <= INT64_DIGITS:
        number = _wrapped(number)
        quotient, rest = divmod(abs(number), _power_of_ten(-shift))
        return (quotient if number >= 0 else -quotient) + bool(rest)
    quotient, rest = divmod(number, _power_of_ten(-shift))
    return _wrapped(_wrapped(quotient) + bool(rest))


def _magnitude(quantity: Quantity) -> int:
    """The power of ten just above the number, give or take one."""
    return quantity.exponent + quantity.unscaled.bit_length() * 30103 // 100000


def _too_far_apart(left: Quantity, right: Quantity) -> bool:
    """The exact sum would be too long to write out."""
    largest = max(_magnitude(left), _magnitude(right))
    return largest - min(left.exponent, right.exponent) > WRITTEN_DIGITS


def _aligned(left: Quantity, right: Quantity) -> tuple[int, int, int]:
    """Both numbers in units of the smaller power of ten, and that power."""
    exponent = min(left.exponent, right.exponent)
    return (
        left.unscaled * _power_of_ten(left.exponent - exponent),
        right.unscaled * _power_of_ten(right.exponent - exponent),
        exponent,
    )


def _compare(left: Quantity, right: Quantity) -> int:
    if left.sign != right.sign:
        return left.sign - right.sign
    apart = _magnitude(left) - _magnitude(right)
    if abs(apart) > 2:  # noqa: PLR2004  each magnitude may be off by one
        return left.sign * apart
    first, second, _ = _aligned(left, right)
    return first - second


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Quantity:
    if not text or not (parts := QUANTITY.fullmatch(text)):
        raise ValueError(FORMAT_WRONG)
    if len(text) > WRITTEN_DIGITS:
        raise ValueError(NOT_A_NUMBER)
    sign, digits, decimals, suffix = parts.groups(default="")
    exponent, bits, format_ = _read_suffix(suffix)
    number = _Number(sign, digits, decimals, exponent, bits, format_)
    return number.narrow(text) or number.wide()


def _read_suffix(suffix: str) -> tuple[int, int, Format]:
    """The power of ten, the power of two, and the format that a suffix stands for."""
    if suffix in DECIMAL_SUFFIXES:
        return DECIMAL_SUFFIXES[suffix], 0, Format.DECIMAL_SI
    if suffix in BINARY_SUFFIXES:
        return 0, BINARY_SUFFIXES[suffix], Format.BINARY_SI
    if (written := EXPONENT_SUFFIX.fullmatch(suffix)) and len(written[1]) <= INT64_DIGITS:
        exponent = (int(written[1]) + 2**31) % 2**32 - 2**31
        return exponent, 0, Format.DECIMAL_EXPONENT
    raise ValueError(NOT_A_SUFFIX)


@dataclass(frozen=True, slots=True)
class _Number:
    """A quantity taken apart, not yet worked out."""

    sign: str
    digits: str
    decimals: str
    exponent: int
    bits: int
    format: Format

    def narrow(self, text: str) -> Quantity | None:
        """The 64-bit form, if the number is short enough for it."""
        digits = (self.digits.lstrip("0") or "0") + self.decimals
        exponent = self.exponent - len(self.decimals)
        if not self._is_short(len(digits)) or exponent < NANO:
            return None
        number = int(digits)
        unscaled = (-number if self.sign == "-" else number) << self.bits
        if self.format is Format.BINARY_SI:
            is_canonical = number % 8 != 0
        else:
            is_canonical = exponent % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
        # The API gives these back as they came, even with a plus sign or zeros in front.
        keeps_text = is_canonical or text == "0"
        return Quantity(unscaled, exponent, self.format, text=text if keeps_text else "")

    def _is_short(self, length: int) -> bool:
        if self.format is not Format.BINARY_SI:
            return length <= INT64_DIGITS
        return not self.decimals and length <= 14 - self.bits * 3 // 10

    def wide(self) -> Quantity:
        digits = self.digits + self.decimals
        if not digits or len(digits) + max(self.exponent, 0) > WRITTEN_DIGITS:
            raise ValueError(NOT_A_NUMBER)
        number, exponent = int(digits) << self.bits, self.exponent - len(self.decimals)
        if number:
            number, exponent = _in_nanos(number, exponent), NANO
        exponent = max(exponent, -WRITTEN_DIGITS)
        format_ = self.format
        if format_ is Format.BINARY_SI:
            if number > MAX_INT64 * _power_of_ten(-NANO) and exponent == NANO:
                number, exponent = MAX_INT64, 0
            elif 0 < number < _power_of_ten(-NANO):
                format_ = Format.DECIMAL_SI
        return Quantity(-number if self.sign == "-" else number, exponent, format_, is_wide=True)


def canonical_quantity(text: str) -> str:
    """The text under which the API stores a quantity. Blanks around it are tolerated.

    Raises ValueError also for a number with more than WRITTEN_DIGITS digits, however short its
    text: programs that read it later may try to write it out. (kube-apiserver tries, and does not
    answer.) `parse_quantity` still reads such a text, in case it was stored before.
    """
    quantity = parse_quantity(text.strip())
    if quantity.sign and _magnitude(quantity) > WRITTEN_DIGITS:
        raise ValueError(TOO_LARGE)
    return str(quantity)


@lru_cache(maxsize=4096)
def parse_value(text: str) -> int:
    """Whole units, rounded up, as the API counts them; see `Quantity.value`."""
    return parse_quantity(text).value


@lru_cache(maxsize=4096)
def parse_rank(text: str) -> int:
    """A whole number that sorts like the quantity."""
    return parse_quantity(text).rank


@lru_cache(maxsize=4096)
def parse_bytes(text: str) -> int:
    """Whole units, rounded up; at most what 64 bits hold."""
    if simple := SIMPLE_SIZE.fullmatch(text):
        return min(MAX_INT64, int(simple[1]) * SIMPLE_FACTORS[simple[2]])
    return parse_quantity(text).rounded_up(UNIT)


@lru_cache(maxsize=4096)
def parse_millis(text: str) -> int:
    """Thousandths, rounded up; at most what 64 bits hold."""
    return parse_quantity(text).rounded_up(MILLI)
