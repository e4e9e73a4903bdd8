"""Which volumes a report of capacity knows of: a token on each volume and on each capacity object.

The provisioner raises a counter when it records a volume, and writes the value on the volume. A
report carries the value that was read before the driver was asked. So a report whose token has
reached that of a volume counts the volume in; one with a smaller token may not. Tokens of later
leaders are larger: the time at which the server made the leader's lease, and how often the lease
changed hands, come first.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

CAPACITY_TOKEN = "plimsoll.dev/capacity-token"  # noqa: S105  the name of an annotation
"""On volumes and on capacity objects."""
LONGEST = 60
KEPT_TOKENS = 1024


class CapacityToken(NamedTuple):
    since: int
    """In seconds, when the leader's lease was made, or when a process began that needs none."""
    transitions: int
    counter: int = 0

    def __str__(self) -> str:
        return f"{self.since}.{self.transitions}.{self.counter}"


def find_token(annotations: Mapping[str, str]) -> CapacityToken | None:
    """None: there is none, or none that makes sense."""
    text = annotations.get(CAPACITY_TOKEN)
    return None if text is None or len(text) > LONGEST else _parsed(text)


@lru_cache(KEPT_TOKENS)
def _parsed(text: str) -> CapacityToken | None:
    parts = text.split(".")
    if not text.isascii() or not all(part.isdigit() for part in parts):
        return None
    if len(parts) != len(CapacityToken._fields):
        return None
    return CapacityToken(*map(int, parts))
