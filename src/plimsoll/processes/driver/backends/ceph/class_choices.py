"""Parameters of a class that have one of several words as their value."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from plimsoll.wire.csi.refusals import invalid_argument

SPREAD, REACH = "spread", "reach"

Choice = TypeVar("Choice", bound=StrEnum)


def parse_choice(parameters: Mapping[str, str], name: str, default: Choice) -> Choice:
    """Raises CsiStatusError (INVALID_ARGUMENT)."""
    text = parameters.get(name, "")
    kind = type(default)
    if text and text not in {each.value for each in kind}:
        known = ", ".join(each.value for each in kind)
        raise invalid_argument(f"parameters: {name}: {text[:64]!r} is none of {known}")
    return kind(text) if text else default
