"""Whole numbers in the parameters of a class, read the same way by every backend.

A parameter is text from a user: it may be negative, have thousands of digits, or digits of other
scripts. All of that is refused with the bounds that hold, before any arithmetic.
"""

import re
from collections.abc import Mapping

from plimsoll.wire.csi.refusals import invalid_argument

DIGITS = re.compile(r"[0-9]{1,18}")
"""Every number of so many digits has its place in 64 bits."""


def parse_count(parameters: Mapping[str, str], name: str, *, least: int, most: int) -> int:
    """Raises CsiStatusError (INVALID_ARGUMENT)."""
    text = parameters[name]
    number = int(text) if DIGITS.fullmatch(text) else -1
    if not least <= number <= most:
        raise invalid_argument(
            f"parameters: {name}: {_shortened(text)} is no number from {least} to {most}"
        )
    return number


def _shortened(text: str) -> str:
    longest = 40
    return repr(text) if len(text) <= longest else f"{text[:longest]!r}…"
