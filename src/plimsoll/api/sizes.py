"""Sizes as users give them to a program: always with a unit.

A bare number is bytes in the API, where programs write it. On a command line it is a forgotten
unit, and `500m` is half a byte: both are refused.
"""

import re

from plimsoll.api.quantity import BINARY_SUFFIXES, parse_bytes

UNITS = (*BINARY_SUFFIXES, "k", "M", "G", "T", "P", "E")
SIZE = re.compile(rf"[+-]?[0-9]+(\.[0-9]+)?({'|'.join(UNITS)})")


def parse_size(text: str) -> int:
    """Bytes, rounded up. Raises ValueError; `0` needs no unit."""
    if text == "0":
        return 0
    if not SIZE.fullmatch(text):
        bare = text if re.fullmatch(r"[0-9]{1,9}", text) else "10"
        problem = "has no unit" if bare == text else "is no size"
        raise ValueError(f"{text!r} {problem}; write it like {bare}Gi or {bare}Mi")
    return parse_bytes(text)
