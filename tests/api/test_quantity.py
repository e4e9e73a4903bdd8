"""The recorded answers are compared by tests.oracle; these tests say what they mean."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.quantity import (
    MAX_INT64,
    WRITTEN_DIGITS,
    Format,
    Quantity,
    canonical_quantity,
    parse_bytes,
    parse_millis,
    parse_quantity,
)
from tests.fuzz.sizes import ACCEPTED_MONSTERS, SIZES

SUFFIXES = ["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "e-3"]
written = st.builds(
    lambda number, decimals, suffix: f"{number}{decimals}{suffix}",
    st.integers(-(10**20), 10**20),
    st.sampled_from(["", ".5", ".125", ".000001"]),
    st.sampled_from(SUFFIXES),
)


def number(quantity: Quantity) -> Fraction:
    return Fraction(quantity.unscaled) * Fraction(10) ** quantity.exponent


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("10Gi", 10 * 2**30),
        ("1500m", 2),
        ("0.1Gi", 107374183),
        ("1e3", 1000),
        ("5G", 5 * 10**9),
        ("0", 0),
        ("-1.5", -2),
    ],
)
def test_a_size_is_rounded_up_to_whole_bytes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["9223372036854775808", "9223372037G", "100E", "1e1000000000", "9Ei"]
)
def test_a_size_beyond_64_bits_counts_as_the_largest_one(text: str) -> None:
    assert parse_bytes(text) == MAX_INT64


def test_processors_are_counted_in_thousandths() -> None:
    assert [parse_millis(text) for text in ("2", "250m", "1n", "1.5")] == [2000, 250, 1, 1500]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1000Ki", "1000Ki"),
        ("12e2", "1200"),
        ("8Ei", "9223372036854775807"),
        (" 5Gi ", "5Gi"),
        ("1000E", "1000E"),
    ],
)
def test_the_canonical_text_has_no_fraction_and_the_largest_suffix(
    text: str, canonical: str
) -> None:
    assert canonical_quantity(text) == canonical


@pytest.mark.parametrize("text", ["+1", "1E3", "007", "1e-03"])
def test_a_text_that_is_nearly_canonical_stays_as_it_was_sent(text: str) -> None:
    assert canonical_quantity(text) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must match the regular expression"),
        ("1 Gi", "must match the regular expression"),
        ("1GB", "must match the regular expression"),
        ("1K", "suffix"),
        ("1e", "suffix"),
        ("Ei", "numeric part"),
        ("12345678901234567890e100000000", "numeric part"),
    ],
)
def test_what_is_no_quantity_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_quantity(text)


def test_quantities_are_equal_when_their_numbers_are() -> None:
    assert parse_quantity("1Gi") == parse_quantity("1073741824")
    assert len({parse_quantity(text) for text in ("1", "1000m", "1e0", "1.0")}) == 1


def test_a_sum_is_written_like_its_left_side() -> None:
    assert str(parse_quantity("1Gi") + parse_quantity("1G")) == "2073741824"
    assert str(parse_quantity("1Gi") + parse_quantity("1024Mi")) == "2Gi"
    assert (parse_quantity("0") + parse_quantity("1Gi")).format is Format.BINARY_SI


def test_numbers_of_absurd_size_can_still_be_compared_and_added() -> None:
    absurd, one = parse_quantity("1e1000000000"), parse_quantity("1")
    assert absurd > one
    assert str(absurd + one) == "10e999999999"


@given(written, written)
def test_arithmetic_and_order_are_exact(left: str, right: str) -> None:
    a, b = parse_quantity(left), parse_quantity(right)
    assert number(a + b) == number(a) + number(b)
    assert number(a - b) == number(a) - number(b)
    assert (a < b) == (number(a) < number(b))
    assert (a == b) == (number(a) == number(b))


@given(written)
def test_the_canonical_text_means_the_same_number(text: str) -> None:
    quantity = parse_quantity(text)
    assert parse_quantity(quantity.canonical) == quantity


LONGEST_NUMBER = 10 ** (2 * WRITTEN_DIGITS)
"""No number that a quantity is worked out to is longer, whatever its text says."""


def parsed(text: str) -> Quantity | None:
    try:
        return parse_quantity(text)
    except ValueError:
        return None


def all_numbers(quantity: Quantity) -> list[int]:
    return [
        quantity.value,
        quantity.milli_value,
        quantity.rounded_up(0),
        quantity.unscaled,
        quantity.rank,
    ]


@pytest.mark.parametrize("text", ACCEPTED_MONSTERS)
def test_a_quantity_with_a_huge_exponent_is_worked_out_within_bounds(text: str) -> None:
    quantity = parse_quantity(text)

    assert max(map(abs, all_numbers(quantity))) < LONGEST_NUMBER
    assert len(str(quantity)) <= 2 * WRITTEN_DIGITS
    assert hash(quantity) == hash(parse_quantity(text))


@given(SIZES)
def test_any_text_is_refused_or_worked_out_within_bounds(text: str) -> None:
    if (quantity := parsed(text)) is not None:
        assert max(map(abs, all_numbers(quantity))) < LONGEST_NUMBER
        assert len(str(quantity)) <= 2 * WRITTEN_DIGITS


@given(SIZES)
def test_what_the_api_stores_is_the_same_number(text: str) -> None:
    try:
        stored = canonical_quantity(text)
    except ValueError:
        return
    assert parse_quantity(stored) == parse_quantity(text.strip())


@given(SIZES, SIZES, SIZES)
def test_sums_of_any_quantities_stay_within_bounds(first: str, second: str, third: str) -> None:
    quantities = [quantity for text in (first, second, third) if (quantity := parsed(text))]
    total = sum(quantities, Quantity(0))

    for quantity in (total, total - Quantity(5), -total):
        assert max(map(abs, all_numbers(quantity))) < LONGEST_NUMBER
        assert len(str(quantity)) <= 2 * WRITTEN_DIGITS


@given(SIZES, SIZES)
def test_ranks_sort_like_quantities(first: str, second: str) -> None:
    left, right = parsed(first), parsed(second)
    if left is not None and right is not None:
        assert (left < right, left == right) == (left.rank < right.rank, left.rank == right.rank)


def test_adding_a_zero_with_a_huge_exponent_changes_nothing() -> None:
    wide = parse_quantity("9" * 20)

    assert parse_quantity("0e2000000000") + wide == wide
    assert wide + parse_quantity("0e-2000000000") == wide


@pytest.mark.parametrize("text", ["1" * 3_000_000 + "x", "1" * 3_000_000, "." * 3_000_000])
def test_a_text_of_megabytes_is_refused_at_a_glance(text: str) -> None:
    with pytest.raises(ValueError, match=r"quantit"):
        parse_quantity(text)


@pytest.mark.parametrize("text", ["1e999999999", "-1e2147483647", "1e1001", "9" * 990 + "e20"])
def test_the_api_stores_no_number_that_is_too_long_to_be_written_out(text: str) -> None:
    with pytest.raises(ValueError, match="quantit"):
        canonical_quantity(text)


@pytest.mark.parametrize(
    ("text", "canonical"), [("1e999", "1e999"), ("1e-999999999", "1e-9"), ("0e2000000000", "0")]
)
def test_what_is_only_small_or_nothing_is_stored_whatever_its_exponent(
    text: str, canonical: str
) -> None:
    assert canonical_quantity(text) == canonical
