"""Paths into documents, as printer columns, selectable fields and scale subresources name them.

The part of kubectl's JSONPath that makes sense for one value: members (`.spec.size`,
`['a.b']`), elements (`[0]`, `[-1]`, `[*]`) and filters (`[?(@.type=="Ready")]`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from plimsoll.apiserver.model.custom.values.regexes import compiled

LONGEST_PATH = 1000
MOST_RESULTS = 1000
"""How many values a path may lead to: only the first one is ever shown."""

Step = Callable[[Any], Iterator[Any]]

_MEMBER = r"^\.([^.\[\]\s'\"(){}|]+)"
_QUOTED = r"^\[['\"]((?:[^'\"\\]|\\.)*)['\"]\]"
_INDEX = r"^\[(-?\d{1,9})\]"
_EVERY = r"^(?:\[\*\]|\.\*)"
_FILTER = r"^\[\?\(\s*@(\.[^=!<>\s]+)\s*(==|!=|<=|>=|<|>)\s*(\"[^\"]*\"|'[^']*'|[^)\s]+)\s*\)\]"


class PathError(ValueError):
    """A path that cannot be read."""


@lru_cache(maxsize=1024)
def parsed_path(path: str) -> tuple[Step, ...]:
    """The steps of a path. Raises PathError."""
    if len(path) > LONGEST_PATH:
        raise PathError("is too long")
    text = path.strip().removeprefix("{").removesuffix("}").replace("\\.", "\0")
    text = text.removeprefix("$")
    steps = []
    while text and text != ".":
        step, length = _next(text)
        steps.append(step)
        text = text[length:]
    return tuple(steps)


def _next(text: str) -> tuple[Step, int]:
    for pattern, make in _FORMS:
        found = compiled(pattern).search(text)
        if found is not None:
            return make(*found.groups()), found.end()
    raise PathError(f"unexpected {text[:20]!r}")


def find_values(path: str, document: Any) -> list[Any]:
    """What the path leads to, in order; nothing where something on the way is missing."""
    found = [document]
    for step in parsed_path(path):
        found = [value for each in found for value in step(each)][:MOST_RESULTS]
    return found


def find_value(path: str, document: Any) -> Any:
    """The first of them, or None."""
    found = find_values(path, document)
    return found[0] if found else None


def simple_names(path: str) -> list[str]:
    """The members that a path in dot notation goes through."""
    return [name.replace("\0", ".") for name in path.replace("\\.", "\0").strip(".").split(".")]


def _member(name: str) -> Step:
    name = name.replace("\0", ".")

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _quoted(name: str) -> Step:
    return _member(name.replace("\\'", "'").replace('\\"', '"'))


def _index(digits: str) -> Step:
    place = int(digits)

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= place < len(value):
            yield value[place]

    return step


def _every() -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from value
        elif isinstance(value, dict):
            yield from value.values()

    return step


@dataclass(frozen=True, slots=True)
class _Filter:
    path: str
    operator: str
    wanted: Any

    def __call__(self, value: Any) -> Iterator[Any]:
        for item in value if isinstance(value, list) else ():
            if self._holds(find_value(self.path, item)):
                yield item

    def _holds(self, found: Any) -> bool:
        if found is None:
            return False
        match self.operator:
            case "==":
                return bool(found == self.wanted)
            case "!=":
                return bool(found != self.wanted)
            case _ if type(found) is not type(self.wanted):
                return False
            case "<":
                return bool(found < self.wanted)
            case ">":
                return bool(found > self.wanted)
            case "<=":
                return bool(found <= self.wanted)
            case _:
                return bool(found >= self.wanted)


def _filter(path: str, operator: str, text: str) -> Step:
    return _Filter(path, operator, _literal(text))


def _literal(text: str) -> Any:
    if text[:1] in "\"'":
        return text[1:-1].replace("\0", ".")
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        raise PathError(f"cannot compare with {text!r}") from None


_FORMS: tuple[tuple[str, Callable[..., Step]], ...] = (
    (_EVERY, _every),
    (_MEMBER, _member),
    (_QUOTED, _quoted),
    (_INDEX, _index),
    (_FILTER, _filter),
)
