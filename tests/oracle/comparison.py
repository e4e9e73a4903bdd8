"""When two answers are the same."""

from typing import Any


def agrees(expected: Any, actual: Any) -> bool:
    """Equal all the way down; `{"anyOf": [...]}` at any depth agrees with each of its members."""
    match expected:
        case {"anyOf": [*choices]} if len(expected) == 1:
            return any(agrees(choice, actual) for choice in choices)
        case dict():
            return (
                isinstance(actual, dict)
                and expected.keys() == actual.keys()
                and all(agrees(value, actual[key]) for key, value in expected.items())
            )
        case list():
            return (
                isinstance(actual, list)
                and len(expected) == len(actual)
                and all(map(agrees, expected, actual))
            )
        case _:
            # True is no number here, although Python thinks so.
            same_kind = isinstance(expected, bool) == isinstance(actual, bool)
            return same_kind and bool(expected == actual)
