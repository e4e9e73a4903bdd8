"""Regular expressions of clients: Go's syntax, and never more time than the text is long.

Kubernetes reads patterns with Go's RE2. The same engine is used here, through its own bindings:
what is accepted there is accepted here, and no pattern can make the server try all the ways in
which a text might match.
"""

from functools import lru_cache
from typing import Any

import re2

LONGEST_PATTERN = 10_000
MOST_MEMORY = 8 << 20
"""What a pattern may take while it is searched, in bytes."""
LARGEST = 10_000
"""How many instructions a pattern may have: each of them may be tried for each character."""
MOST_TRIES = 50_000_000
"""Instructions times characters; so many take less than a second."""


class PatternError(ValueError):
    """A pattern that cannot be read, or that would take too much memory."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    """The pattern, ready to search. Raises PatternError."""
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(f"error parsing regexp: longer than {LONGEST_PATTERN} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MOST_MEMORY
    try:
        made = re2.compile(pattern, options)
    except re2.error as error:
        raise PatternError(f"error parsing regexp: {_said(error)}") from None
    if _size(made) > LARGEST:
        raise PatternError(f"error parsing regexp: more than {LARGEST} instructions")
    return made


def _size(made: Any) -> int:
    """Of the compiled pattern, in instructions."""
    size: int = made._regexp.ProgramSize()  # noqa: SLF001 the bindings tell it nowhere else
    return size


def size_of(pattern: str) -> int:
    """How many instructions the pattern has; those of one that cannot be read do not count."""
    try:
        return _size(compiled(pattern))
    except PatternError:
        return 0


def is_too_long(pattern: str, text: str) -> bool:
    """Whether a search of the text would take longer than any client may."""
    return len(text) * size_of(pattern) > MOST_TRIES


def _said(error: Exception) -> str:
    first = error.args[0] if error.args else ""
    return first.decode(errors="replace") if isinstance(first, bytes) else str(first)


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found anywhere in the text, as Go's MatchString has it."""
    return compiled(pattern).search(text) is not None
