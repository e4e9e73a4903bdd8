"""How a method says that a value is not of its type: another method of its name may know it."""

from typing import Any, TypeVar

T = TypeVar("T")


def want(kind: type[T], *values: Any) -> None:
    """Raises TypeError unless all values are of the type; truth values are no numbers."""
    for value in values:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(kind.__name__)
