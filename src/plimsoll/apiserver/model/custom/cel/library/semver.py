"""Semantic versions."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from plimsoll.apiserver.model.custom.cel.library.types import readable, want
from plimsoll.apiserver.model.custom.cel.values import CelError, Meter

_VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)
_LONGEST = 256
_PARTS = 3


@dataclass(frozen=True, slots=True)
class Semver:
    numbers: tuple[int, int, int]
    before: tuple[str, ...] = ()
    """What makes it come before the version of these numbers."""

    @property
    def order(self) -> tuple[Any, ...]:
        early = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in self.before)
        return self.numbers, not self.before, early

    def __str__(self) -> str:
        numbers = ".".join(map(str, self.numbers))
        return f"{numbers}-{'.'.join(self.before)}" if self.before else numbers


def read(text: Any, *normalize: bool) -> Semver:
    want(str, text)
    given = _normalized(text) if normalize and normalize[0] else text
    found = _VERSION.fullmatch(given) if len(given) <= _LONGEST else None
    if found is None:
        raise CelError(f'semver parse error during conversion from string: "{text}"')
    numbers = int(found[1]), int(found[2]), int(found[3])
    return Semver(numbers, tuple(found[4].split(".")) if found[4] else ())


def _normalized(text: str) -> str:
    """With three numbers, no leading v and no leading zeros."""
    plain = text.strip().removeprefix("v")
    numbers = re.match(r"[\d.]*", plain)
    head = numbers[0] if numbers else ""
    parts = [str(int(part)) for part in head.split(".") if part]
    parts += ["0"] * (_PARTS - len(parts))
    return ".".join(parts) + plain[len(head) :]


def _compare(_meter: Meter, one: Any, other: Any) -> int:
    want(Semver, one, other)
    return int(one.order > other.order) - int(one.order < other.order)


def _number(place: int) -> Callable[..., int]:
    def method(_meter: Meter, value: Any) -> int:
        want(Semver, value)
        return int(value.numbers[place])

    return method


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "isSemver": readable(read),
    "semver": lambda _meter, text, *normalize: read(text, *normalize),
}
METHODS: dict[str, Callable[..., Any]] = {
    "compareTo": _compare,
    "isGreaterThan": lambda meter, one, other: _compare(meter, one, other) > 0,
    "isLessThan": lambda meter, one, other: _compare(meter, one, other) < 0,
    "major": _number(0),
    "minor": _number(1),
    "patch": _number(2),
}
