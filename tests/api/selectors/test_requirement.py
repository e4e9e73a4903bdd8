import pytest

from plimsoll.api.selectors.requirement import (
    Operator,
    Requirement,
    find_integer,
    parse_requirement,
)


@pytest.mark.parametrize(
    ("operator", "values", "complaint"),
    [
        (Operator.IN, (), "values: Invalid value: []: for 'in', 'notin' operators"),
        (Operator.NOT_IN, None, "values: Invalid value: null: for 'in', 'notin' operators"),
        (Operator.EXISTS, ("x",), 'values: Invalid value: ["x"]: values set must be empty'),
        (Operator.EQUALS, ("x", "y"), "values: Invalid value: "),
        (Operator.LESS_THAN, ("1", "2"), "values: Invalid value: "),
        (Operator.GREATER_THAN, ("x",), 'values[0]: Invalid value: "x": for'),
    ],
)
def test_an_operator_says_how_many_values_it_takes(
    operator: Operator, values: tuple[str, ...] | None, complaint: str
) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        parse_requirement("a", operator, values)
    assert str(error.value).startswith(complaint)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("1_0", None),
        ("٥", None),  # noqa: RUF001  a digit, but not one that the API reads
        (" 5", None),
        ("", None),
        ("1" * 5000, None),
    ],
)
def test_only_plain_numbers_of_64_bits_are_compared(text: str, number: int | None) -> None:
    assert find_integer(text) == number


def test_a_missing_label_satisfies_only_what_excludes() -> None:
    satisfied = {
        operator for operator in Operator if Requirement("a", operator, ("1",)).matches({})
    }
    assert satisfied == {Operator.NOT_IN, Operator.NOT_EQUALS, Operator.DOES_NOT_EXIST}
