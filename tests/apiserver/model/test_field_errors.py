"""Complaints read as clients know them."""

import pytest

from plimsoll.apiserver.model.field_errors import WORDS, ErrorType, FieldError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FieldError.required("a"), "Required value"),
        (FieldError.required("a", "name it"), "Required value: name it"),
        (FieldError.invalid("a", "x", "must be y"), 'Invalid value: "x": must be y'),
        (FieldError.invalid("a", None, "must be y"), "Invalid value: null: must be y"),
        (FieldError.invalid("a", True, "must be y"), "Invalid value: true: must be y"),
        (FieldError.invalid("a", 7, "must be y"), "Invalid value: 7: must be y"),
        (FieldError.duplicate("a", "x"), 'Duplicate value: "x"'),
        (FieldError.forbidden("a", "not now"), "Forbidden: not now"),
        (FieldError.not_found("a", "x"), 'Not found: "x"'),
        (
            FieldError.not_supported("a", "x", ("c", "b")),
            'Unsupported value: "x": supported values: "b", "c"',
        ),
        (FieldError.too_long("a", 63), "Too long: may not be more than 63 bytes"),
        (FieldError.too_many("a", 5, 3), "Too many: 5: must have at most 3 items"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_complaint_says_what_is_wrong_and_shows_the_value_where_it_helps(
    error: FieldError, message: str
) -> None:
    assert error.message == message
    assert error.field == "a"


def test_every_type_of_error_has_its_words() -> None:
    assert set(WORDS) == set(ErrorType)
