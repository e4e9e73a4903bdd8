"""The recorded answers are compared by tests.oracle; these tests say what they mean."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.quantity import (
    MAX_INT64,
    Format,
    Quantity,
    canonical_quantity,
    parse_bytes,
    parse_millis,
    parse_quantity,
)

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


@pytest.mark.parametrize("text", ["9223372036854775808", "100E", "1e1000000000", "9Ei"])
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
