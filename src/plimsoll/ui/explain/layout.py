"""Tables, and texts from other programs, as a terminal can show them."""

from collections.abc import Iterable
from datetime import timedelta

Row = tuple[str, ...]
LONGEST_TEXT = 400


def table(head: Row, rows: Iterable[Row]) -> str:
    """Columns that are empty throughout are left out."""
    lines = [head, *rows]
    kept = [i for i in range(len(head)) if any(line[i] for line in lines[1:])]
    widths = {i: max(len(line[i]) for line in lines) for i in kept}
    texts = ("   ".join(line[i].ljust(widths[i]) for i in kept).rstrip() for line in lines)
    return "\n".join(texts)


def plain(text: str) -> str:
    """Others write events and errors: nothing in them may move the cursor or break the table."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    shown = " ".join(shown.split())
    return shown if len(shown) <= LONGEST_TEXT else f"{shown[:LONGEST_TEXT]}…"


def human(duration: timedelta) -> str:
    """`45s`, `12m`, `5h`, `3d`."""
    seconds = max(int(duration.total_seconds()), 0)
    for size, letter in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{letter}"
    return f"{seconds}s"
