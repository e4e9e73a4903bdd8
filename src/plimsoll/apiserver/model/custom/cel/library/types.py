"""How a method says that a value is not of its type: another method of its name may know it. And
how a function says whether a text can be read as what it is about.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from plimsoll.apiserver.model.custom.cel.values import Meter

T = TypeVar("T")


def want(kind: type[T], *values: Any) -> None:
    """Raises TypeError unless all values are of the type; truth values are no numbers."""
    for value in values:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(kind.__name__)


def readable(read: Callable[..., Any]) -> Callable[..., bool]:
    """A function of rules: whether `read` takes the text."""

    def function(_meter: Meter, text: Any, *more: Any) -> bool:
        want(str, text)
        try:
            read(text, *more)
        except ValueError:
            return False
        return True

    return function
