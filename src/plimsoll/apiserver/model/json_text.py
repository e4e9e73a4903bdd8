"""How much a JSON text may hold: a bound on values, which cost far more memory than their bytes.

Three megabytes of `{}` are a million objects, and the interpreter does nothing else while they are
made. Text inside strings does not count.
"""

import re

MAX_VALUES = 100_000

_STRING_OR_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[,\[{]', re.DOTALL)


def check_size(text: bytes) -> None:
    """Raises ValueError when the text has more than MAX_VALUES values."""
    if sum(map(text.count, (b",", b"{", b"["))) < MAX_VALUES:
        return
    marks = 0
    for found in _STRING_OR_MARK.finditer(text):
        if found[0][:1] != b'"':
            marks += 1
            if marks >= MAX_VALUES:
                raise ValueError(f"more than {MAX_VALUES} values")
