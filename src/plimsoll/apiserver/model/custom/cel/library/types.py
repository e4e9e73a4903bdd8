"""How methods and functions of the language refuse values. A method raises TypeError for a value of
another type, because another method of the same name may take it. A function such as `isIP` says
whether a text can be parsed.
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
