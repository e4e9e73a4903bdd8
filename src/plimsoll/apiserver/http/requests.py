"""What a request asks for: its path taken apart, its options parsed.

Everything here refuses bad input with an ApiError and knows nothing of stored objects.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from urllib.parse import unquote

import msgspec

from plimsoll.api.registry import Resource, builtin_by_path
from plimsoll.apiserver.model.status import ApiError, bad_request, not_found
from plimsoll.wire.transport import Request

REMEMBERED_LENGTH = 300
"""Of a path; longer ones are rare, and would take memory."""
MOST_DIGITS = 20
"""Of a number of 64 bits."""
PROXY = "proxy"
NAMESPACE_SUBRESOURCES = ("status", "finalize")

NOT_FOUND = "the server could not find the requested resource"
NOT_ALLOWED = "the server does not allow this method on the requested resource"


def resource_missing() -> ApiError:
    return ApiError(404, "NotFound", NOT_FOUND, {})


def method_not_allowed() -> ApiError:
    return ApiError(405, "MethodNotAllowed", NOT_ALLOWED, {})


class PathMissingError(ApiError):
    """Nothing is served there; told in plain text, as of any path that is not known."""

    def __init__(self) -> None:
        super().__init__(404, "NotFound", "404 page not found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a path of the resource API names."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watch: bool = False
    """The path has the old `/watch/` prefix."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.resource.namespaced else self.name

    @property
    def prefix(self) -> str:
        """What all keys of a list begin with."""
        return f"{self.namespace}/" if self.namespace else ""


FindResource = Callable[[str, str, str], Resource | None]
"""By group, version and plural name."""


def is_resource_path(path: str) -> bool:
    """Whether the path has the form of a resource's, served or not."""
    parts = path.strip("/").split("/")
    needed = {"api": 3, "apis": 4}.get(parts[0], 0)
    return bool(needed) and len(parts) >= needed


def no_resource(_group: str, _version: str, _plural: str) -> Resource | None:
    return None


def parse_target(path: str, find_custom: FindResource = no_resource) -> Target:
    """Raises 404 for what neither the registry nor a definition knows."""
    if not is_builtin(path):
        return _parsed(path, find_custom)
    try:
        return _parsed_before(path) if len(path) <= REMEMBERED_LENGTH else _parsed(path)
    except ApiError as missing:
        try:
            return _parsed(path, find_custom)
        except PathMissingError:
            raise missing from None


def is_builtin(path: str) -> bool:
    """Whether the path may be one of a resource that is built in: its group is."""
    return not path.startswith("/apis/") or path.split("/", 3)[2] in _builtin_groups()


@cache
def _builtin_groups() -> frozenset[str]:
    return frozenset(group for group, _, _ in builtin_by_path())


def _builtin(group: str, version: str, plural: str) -> Resource | None:
    return builtin_by_path().get((group, version, plural))


def _parsed(path: str, find: FindResource = _builtin) -> Target:
    parts = path.strip("/").split("/")
    if "%" in path:
        parts = [unquote(part) for part in parts]
    if parts[0] == "api":
        group, parts = "", parts[1:]
    else:
        group, parts = parts[1], parts[2:]
    version, parts = parts[0], parts[1:]
    watch = bool(parts) and parts[0] == "watch"
    if watch:
        parts = parts[1:]
    return _named(group, version, parts, find, watch=watch)


_parsed_before = lru_cache(maxsize=1024)(_parsed)
"""Clients ask for the same objects again and again: leases above all."""


def _named(
    group: str, version: str, parts: list[str], find: FindResource, *, watch: bool
) -> Target:
    namespace = ""
    in_namespace = len(parts) > 2 and parts[0] == "namespaces"  # noqa: PLR2004 namespaces/NS/PLURAL
    if in_namespace and not (not group and parts[2] in NAMESPACE_SUBRESOURCES):
        namespace, parts = parts[1], parts[2:]
    if parts[2:3] == [PROXY]:
        parts = parts[:3]  # the rest is for the server that is reached through it
    if not parts or len(parts) > 3:  # noqa: PLR2004 PLURAL/NAME/SUBRESOURCE
        raise resource_missing()
    resource = find(group, version, parts[0])
    if resource is None or (namespace and not resource.namespaced):
        raise resource_missing() if find is _builtin else PathMissingError()
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 else ""  # noqa: PLR2004
    if name and resource.namespaced and not namespace:
        raise resource_missing()
    if subresource and resource.subresource(subresource) is None:
        raise resource_missing() if find is _builtin else not_found(resource, name)
    return Target(
        resource=resource, namespace=namespace, name=name, subresource=subresource, watch=watch
    )


class Query:
    """The query of a request, by name; the first value counts, as in the real server."""

    def __init__(self, request: Request) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in request.query:
            self._values.setdefault(name, []).append(value)

    def text(self, name: str) -> str:
        values = self._values.get(name)
        return values[0] if values else ""

    def all(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def has(self, name: str) -> bool:
        return name in self._values

    def integer(self, name: str) -> int | None:
        """Absent gives None. Raises 400 for what is no number, also for an empty text."""
        if not self.has(name):
            return None
        try:
            return parse_integer(self.text(name))
        except ValueError as error:
            raise bad_request(str(error)) from error

    def boolean(self, name: str) -> bool | None:
        """Absent gives None. Present means true unless it says otherwise."""
        if not self.has(name):
            return None
        return self.text(name).lower() not in ("false", "0")


def parse_integer(text: str) -> int:
    """Go's ParseInt for 64 bits: no spaces, no underscores. The ValueError has Go's words."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    value = _whole_number(digits, "ParseInt", text)
    value = -value if text[:1] == "-" else value
    if not -(1 << 63) <= value < 1 << 63:
        raise _out_of_range("ParseInt", text)
    return value


def parse_unsigned(text: str) -> int:
    """Go's ParseUint for 64 bits; the ValueError has Go's words."""
    value = _whole_number(text, "ParseUint", text)
    if value >= 1 << 64:
        raise _out_of_range("ParseUint", text)
    return value


def _whole_number(digits: str, function: str, text: str) -> int:
    if not digits.isascii() or not digits.isdigit():
        raise ValueError(f"strconv.{function}: parsing {_quoted(text)}: invalid syntax")
    # More digits than any number of 64 bits has are not worked out.
    significant = digits.lstrip("0")
    if len(significant) > MOST_DIGITS:
        raise _out_of_range(function, text)
    return int(significant or "0")


def _out_of_range(function: str, text: str) -> ValueError:
    return ValueError(f"strconv.{function}: parsing {_quoted(text)}: value out of range")


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
