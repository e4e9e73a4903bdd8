"""What a field of a settings struct says about itself: what it means, and how a flag gives it.

Both are metadata of the field's type, so that help texts and reference pages come from the struct:

    metrics_port: Annotated[int, Meta(description="On 127.0.0.1 …"), Flag(at_least=0)] = 10267

A field without a `Flag` can be set by files and by the environment only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec
import yaml
from msgspec.structs import FieldInfo, fields

M = TypeVar("M")


class PathKind(Enum):
    FILE = auto()
    DIRECTORY = auto()


@dataclass(frozen=True, slots=True)
class Flag:
    """How a setting is given on the command line."""

    help: str = ""
    """Empty: the description of the field."""
    metavar: str | None = None
    name: str = ""
    """Empty: that of the field, with dashes."""
    spellings: tuple[str, ...] = ()
    """With their dashes, where there are others than the name: `-n` beside `--namespace`."""
    off: str | None = ""
    """The flag that switches a boolean off; empty: `no-` and the name; None: there is none."""
    default: str | None = None
    """The default in words, or nothing where it is empty; None: that of the field."""
    at_least: int | None = None
    at_most: int | None = None
    choices: tuple[str, ...] = ()
    path: PathKind | None = None
    parse: Callable[[str], Any] | None = None
    """Makes the setting of the text; raises ValueError."""
    gather: Callable[[tuple[str, ...]], Any] | None = None
    """The flag may be repeated, and this makes the setting of all texts; raises ValueError."""


def flags(form: type[msgspec.Struct]) -> list[tuple[FieldInfo, Flag]]:
    """Of all fields that have one, in the order of the fields."""
    found = ((field, _metadata(field, Flag)) for field in fields(form))
    return [(field, flag) for field, flag in found if flag is not None]


def read_arguments(form: type[msgspec.Struct], arguments: Sequence[str]) -> dict[str, Any]:
    """What a command would take from `--name value …`, by field; `--name` alone is a boolean.

    For programs that are several commands at once. Raises ValueError.
    """
    known = {_option(field, flag): (field, flag) for field, flag in flags(form)}
    texts: dict[str, list[str]] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument not in known:
            raise ValueError(f"{argument} is unknown")
        is_switch = plain_type(known[argument][0].type) is bool
        texts.setdefault(argument, []).append("true" if is_switch else next(rest))
    return {known[name][0].name: _read(known[name][1], given) for name, given in texts.items()}


def _option(field: FieldInfo, flag: Flag) -> str:
    return f"--{flag.name or field.name.replace('_', '-')}"


def _read(flag: Flag, texts: Sequence[str]) -> Any:
    if flag.gather is not None:
        return flag.gather(tuple(texts))
    return flag.parse(texts[-1]) if flag.parse is not None else texts[-1]


def description(field: FieldInfo) -> str:
    """What the field means; empty where it does not say."""
    meta, flag = _metadata(field, msgspec.Meta), _metadata(field, Flag)
    told = meta.description if meta is not None else None
    return told or (flag.help if flag is not None else "")


def plain_type(annotation: Any) -> Any:
    """Without metadata."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _metadata(field: FieldInfo, kind: type[M]) -> M | None:
    if get_origin(field.type) is not Annotated:
        return None
    return next((each for each in get_args(field.type)[1:] if isinstance(each, kind)), None)


# How the texts of flags are read


def parse_list(text: str) -> tuple[str, ...] | None:
    """`a, b`; None, as if it was not given, without any part."""
    return tuple(part.strip() for part in text.split(",") if part.strip()) or None


def gather_joined(texts: tuple[str, ...]) -> str | None:
    """As one text, separated by commas."""
    return ",".join(texts) or None


def gather_all(texts: tuple[str, ...]) -> tuple[str, ...]:
    return texts


def gather_pairs(texts: tuple[str, ...]) -> dict[str, str]:
    """`KEY=VALUE`, each."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise ValueError(f"{text}: write KEY=VALUE")
        found[key] = value
    return found


def gather_values(texts: tuple[str, ...]) -> dict[str, Any]:
    """`KEY=VALUE`, each; values as in a settings file: 5, true, text."""
    return {key: yaml.safe_load(value) for key, value in gather_pairs(texts).items()}
