from typing import Any

import pytest

from tests.oracle.comparison import agrees


@pytest.mark.parametrize(
    ("expected", "actual", "is_same"),
    [
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1, "b": None}, {"a": 1}, False),
        ([1, 2], [2, 1], False),
        ([1], [1, 2], False),
        (1, 1.0, True),
        (1, True, False),
        ({"anyOf": [1, 2]}, 2, True),
        ({"anyOf": [1, 2]}, 3, False),
        ({"a": {"anyOf": [{"x": 1}, None]}}, {"a": None}, True),
        ({"anyOf": [1], "other": 2}, 1, False),
    ],
)
def test_answers_agree_when_equal_or_one_of_several(
    expected: Any, actual: Any, *, is_same: bool
) -> None:
    assert agrees(expected, actual) is is_same
