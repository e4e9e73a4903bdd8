"""Texts and regular expressions."""

from collections.abc import Callable
from typing import Any

from plimsoll.apiserver.model.custom.cel.library import conversions
from plimsoll.apiserver.model.custom.cel.library.types import want
from plimsoll.apiserver.model.custom.cel.values import CelError, Meter
from plimsoll.apiserver.model.custom.values import regexes

_PAIR = 2


def _charged(meter: Meter, *texts: Any) -> None:
    want(str, *texts)
    meter.charge(sum(map(len, texts)) // 10)


def _simple(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method of texts that Python has as well."""

    def method(meter: Meter, *texts: Any) -> Any:
        _charged(meter, *texts)
        return function(*texts)

    return method


def _searched(meter: Meter, text: Any, pattern: Any) -> None:
    """A search costs as much as the pattern has instructions, for each character."""
    _charged(meter, text, pattern)
    meter.charge(len(text) * (1 + regexes.size_of(pattern)) // 1000)


def matches(meter: Meter, text: Any, pattern: Any) -> bool:
    _searched(meter, text, pattern)
    return regexes.matches(pattern, text)


def find(meter: Meter, text: Any, pattern: Any) -> str:
    _searched(meter, text, pattern)
    found = regexes.compiled(pattern).search(text)
    return "" if found is None else str(found.group(0))


def find_all(meter: Meter, text: Any, pattern: Any, limit: int = -1) -> list[str]:
    _searched(meter, text, pattern)
    found: list[str] = []
    for each in regexes.compiled(pattern).finditer(text):
        if 0 <= limit <= len(found):
            break
        meter.charge(1)
        found.append(each.group(0))
    return found


def split(meter: Meter, text: Any, separator: Any, limit: int = -1) -> list[str]:
    _charged(meter, text, separator)
    if limit == 0:
        return []
    meter.charge(len(text))
    if not separator:
        return list(text) if limit < 0 else [*text[: limit - 1], text[limit - 1 :]]
    parts: list[str] = text.split(separator, limit - 1 if limit > 0 else -1)
    return parts


def join(meter: Meter, texts: Any, separator: str = "") -> str:
    want(list, texts)
    want(str, separator, *texts)
    joined = separator.join(texts)
    meter.charge(len(texts) + len(joined) // 10)
    return joined


def replace(meter: Meter, text: Any, *change: Any) -> str:
    old, new, limit = change if len(change) > _PAIR else (*change, -1)
    _charged(meter, text, old, new)
    count = text.count(old) if limit < 0 else min(limit, text.count(old))
    meter.charge(count * (1 + len(new)) // 10)
    replaced: str = text.replace(old, new, limit)
    return replaced


def substring(meter: Meter, text: Any, start: int, *end: int) -> str:
    _charged(meter, text)
    want(int, start, *end)
    last = end[0] if end else len(text)
    if not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    if not start <= last <= len(text):
        raise CelError(f"index out of range: {last}")
    return str(text[start:last])


def char_at(_meter: Meter, text: Any, place: int) -> str:
    want(str, text)
    if not 0 <= place <= len(text):
        raise CelError(f"index out of range: {place}")
    return str(text[place : place + 1])


def index_of(meter: Meter, text: Any, wanted: Any, start: int = 0) -> int:
    _charged(meter, text, wanted)
    return int(text.find(wanted, start))


def last_index_of(meter: Meter, text: Any, wanted: Any, *end: int) -> int:
    _charged(meter, text, wanted)
    return int(text.rfind(wanted, 0, end[0] + len(wanted)) if end else text.rfind(wanted))


def formatted(meter: Meter, template: Any, values: Any) -> str:
    """%s, %d, %f, %e, %x, %X, %b, %o and %%."""
    _charged(meter, template)
    want(list, values)
    parts: list[str] = []
    left = list(values)[::-1]
    for place, piece in enumerate(regexes.compiled(_CLAUSE).split(template)):
        if place % 2 == 0:
            parts.append(piece)
        elif piece == "%%":
            parts.append("%")
        elif not left:
            raise CelError("index out of range")
        else:
            parts.append(_written(meter, piece, left.pop()))
    return "".join(parts)


_CLAUSE = r"(%%|%(?:\.\d{1,2})?[sdfexXbo])"


def _written(meter: Meter, clause: str, value: Any) -> str:
    kind = clause[-1]
    if kind == "s":
        return _shown(meter, value)
    if isinstance(value, bool) and kind != "b":
        raise TypeError
    precision = clause[1:-1] or ".6"
    match kind:
        case "d":
            want(int, value)
            return str(value)
        case "f" | "e":
            return format(float(value), f"{precision}{kind}")
        case "x" | "X" if isinstance(value, str | bytes):
            data = value.encode() if isinstance(value, str) else value
            return data.hex() if kind == "x" else data.hex().upper()
        case _:
            return format(int(value), kind)


def _shown(meter: Meter, value: Any) -> str:
    meter.charge(1)
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{', '.join(_shown(meter, each) for each in value)}]"
    if isinstance(value, dict):
        entries = sorted((_shown(meter, k), _shown(meter, v)) for k, v in value.items())
        return "{" + ", ".join(f"{key}: {shown}" for key, shown in entries) + "}"
    return conversions.to_string(meter, value)


def quoted(meter: Meter, text: Any) -> str:
    _charged(meter, text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _ascii(text: str, change: Callable[[str], str]) -> str:
    return "".join(change(c) if c.isascii() else c for c in text)


METHODS: dict[str, Callable[..., Any]] = {
    "charAt": char_at,
    "contains": _simple(lambda text, part: part in text),
    "endsWith": _simple(str.endswith),
    "find": find,
    "findAll": find_all,
    "format": formatted,
    "indexOf": index_of,
    "join": join,
    "lastIndexOf": last_index_of,
    "lowerAscii": _simple(lambda text: _ascii(text, str.lower)),
    "matches": matches,
    "replace": replace,
    "reverse": _simple(lambda text: text[::-1]),
    "split": split,
    "startsWith": _simple(str.startswith),
    "substring": substring,
    "trim": _simple(str.strip),
    "upperAscii": _simple(lambda text: _ascii(text, str.upper)),
}
FUNCTIONS: dict[str, Callable[..., Any]] = {"matches": matches, "strings.quote": quoted}
