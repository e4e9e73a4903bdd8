"""Reads the parts of a scenario file strictly: every error names the place and the remedy."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from plimsoll.api.names import dns_subdomain_errors
from plimsoll.api.quantity import parse_quantity
from plimsoll.runtime.config import parse_duration

T = TypeVar("T", bound=msgspec.Struct)

DURATIONS = frozenset({"at", "lasting", "settling", "by", "ahead"})
QUANTITIES = frozenset({"size", "cpu", "memory"})
SIGNED = frozenset({"ahead"})
SHARES = frozenset({"rate"})
NAMES = frozenset({"name", "zone", "rack"})
MINUTE = 60.0
MOST = 2**31 - 1
SECONDS = re.compile(r"-?\d+(?:\.\d+)?s")


class ScenarioError(ValueError):
    """Says which place of a scenario is wrong, and what would be right."""


def read_part(form: type[T], given: Any, place: str) -> T:
    """One mapping of the file as a struct; `place` is where it is, such as `actions[2]`."""
    if not isinstance(given, dict):
        raise ScenarioError(f"{place}: must be keys with values, not {_told(given)}")
    known = {each.encode_name: each for each in msgspec.structs.fields(form)}
    check_keys(given, known, place, tag=form.__struct_config__.tag_field)
    missing = [name for name, each in known.items() if each.required and name not in given]
    if missing:
        raise ScenarioError(f"{place}: needs {', '.join(missing)}")
    readable = {key: _readable(key, value, f"{place}.{key}") for key, value in given.items()}
    for name, each in known.items():
        if name in readable:
            _check_choice(each.type, readable[name], f"{place}.{name}")
    try:
        return msgspec.convert(readable, form)
    except msgspec.ValidationError as error:
        raise ScenarioError(_explained(str(error), place)) from error


def check_keys(
    given: dict[Any, Any], known: Iterable[str], place: str, *, tag: str | None = None
) -> None:
    names = [*known, *([] if tag is None else [tag])]
    for key in given:
        if key not in names:
            close = get_close_matches(str(key), names, n=1)
            guess = f'did you mean "{close[0]}"? ' if close else ""
            raise ScenarioError(f'{place}: unknown key "{key}"; {guess}known are {listed(names)}')


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def read_list(given: Any, place: str) -> list[tuple[str, Any]]:
    """The entries, each with its place."""
    if not isinstance(given, list):
        raise ScenarioError(f"{place}: must be a list, not {_told(given)}")
    return [(f"{place}[{number}]", each) for number, each in enumerate(given)]


def parse_seconds(value: Any, place: str, *, signed: bool = False) -> float:
    """`90s`, `1m30s`, or a number of seconds."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        message = f"{_told(value)} is not a duration; write it like 90s or 2m"
        raise ScenarioError(f"{place}: {message}")
    try:
        found = _seconds(value, signed=signed)
    except ValueError as error:
        raise ScenarioError(f"{place}: {error}") from error
    if not (signed or found >= 0) or not abs(found) < float("inf"):
        raise ScenarioError(f"{place}: {value} is not a duration from 0 on")
    return found


def _seconds(value: float | str, *, signed: bool) -> float:
    if not isinstance(value, str):
        return float(value)
    if SECONDS.fullmatch(value):  # every digit counts: a run is repeated from a file
        return float(value[:-1])
    if signed and value.startswith("-"):
        return -parse_duration(value[1:]).total_seconds()
    return parse_duration(value).total_seconds()


def written_seconds(value: float) -> str | float:
    """As text that is read as exactly the same number: `2m`, `90s`, `12.345s`."""
    if value and value % MINUTE == 0:
        return f"{int(value / MINUTE)}m"
    text = repr(int(value)) if value == int(value) else repr(value)
    return value if "e" in text else f"{text}s"


def _readable(key: str, value: Any, place: str) -> Any:
    if key in DURATIONS:
        return parse_seconds(value, place, signed=key in SIGNED)
    if key in QUANTITIES:
        return _quantity(value, place)
    _check_value(key, value, place)
    return value


def _check_value(key: str, value: Any, place: str) -> None:
    if key in SHARES and isinstance(value, (int, float)) and not 0 <= value <= 1:
        raise ScenarioError(f"{place}: {value} is not a share; write a number from 0 to 1")
    if type(value) in (int, float) and not 0 <= value < MOST:
        raise ScenarioError(f"{place}: {value} is not a number from 0 to {MOST}")
    if key in NAMES and isinstance(value, str) and dns_subdomain_errors(value):
        remedy = "write lower case letters, digits, - and ."
        raise ScenarioError(f'{place}: "{value}" cannot be a name; {remedy}')


def _check_choice(form: Any, value: Any, place: str) -> None:
    """One of a few words."""
    if isinstance(form, type) and issubclass(form, StrEnum) and value not in {*form}:
        raise ScenarioError(f'{place}: no "{value}"; known are {listed(form)}')


def _quantity(value: Any, place: str) -> str:
    text = value if isinstance(value, str) else repr(value)
    try:
        if isinstance(value, bool) or parse_quantity(text).sign < 0:
            raise ValueError  # noqa: TRY301
    except ValueError as error:
        message = f'"{text}" is not a quantity; write it like 10Gi, 64Gi or 500m'
        raise ScenarioError(f"{place}: {message}") from error
    return text


def _explained(message: str, place: str) -> str:
    """Such as ``Expected `int`, got `str` - at `$.replicas` ``."""
    said, _, path = message.partition(" - at ")
    inside = path.strip("`").removeprefix("$")
    said = said[:1].lower() + said[1:]
    return f"{place}{inside}: {said.replace('`', '')}"


def _told(value: Any) -> str:
    return "nothing" if value is None else f"{type(value).__name__} {value!r}"[:60]
