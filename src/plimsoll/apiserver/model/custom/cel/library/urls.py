"""URLs, taken apart."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from plimsoll.apiserver.model.custom.cel.library.types import readable, want
from plimsoll.apiserver.model.custom.cel.values import CelError, Meter

_LONGEST = 8192


@dataclass(frozen=True, slots=True)
class Url:
    parts: SplitResult
    text: str

    def __str__(self) -> str:
        return self.text


def read(text: Any) -> Url:
    want(str, text)
    spaced = any(c.isspace() for c in text)
    parts = urlsplit(text) if len(text) <= _LONGEST and not spaced else None
    if parts is None or not (parts.scheme or text.startswith("/")):
        raise CelError(f'URL parse error during conversion from string: parse "{text}"')
    _ = parts.port
    return Url(parts, text)


def _part(of: Callable[[SplitResult], Any]) -> Callable[..., Any]:
    def method(_meter: Meter, value: Any) -> Any:
        want(Url, value)
        return of(value.parts)

    return method


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def _hostname(parts: SplitResult) -> str:
    host = _host(parts)
    return host[1 : host.index("]")] if host.startswith("[") else host.partition(":")[0]


def _port(parts: SplitResult) -> str:
    return "" if parts.port is None else str(parts.port)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "isURL": readable(read),
    "url": lambda _meter, text: read(text),
}
METHODS: dict[str, Callable[..., Any]] = {
    "getEscapedPath": _part(lambda parts: parts.path),
    "getHost": _part(_host),
    "getHostname": _part(_hostname),
    "getPort": _part(_port),
    "getQuery": _part(lambda parts: parse_qs(parts.query, keep_blank_values=True)),
    "getScheme": _part(lambda parts: parts.scheme),
}
