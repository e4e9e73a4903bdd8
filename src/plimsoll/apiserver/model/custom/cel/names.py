"""Names of properties that are no names of the language, as rules have to write them."""

import re

_ESCAPED = re.compile(r"__(underscores|dot|dash|slash)__")
_SIGNS = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
KEYWORDS = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
    ]
)


def unescaped(name: str) -> str:
    """The property that `a__dash__b` or `__namespace__` means."""
    inner = name[2:-2]
    if name[:2] == "__" == name[-2:] and inner in KEYWORDS:
        return inner
    return _ESCAPED.sub(lambda found: _SIGNS[found[1]], name)
