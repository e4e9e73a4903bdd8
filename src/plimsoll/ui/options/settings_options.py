"""The options of a command, made from the struct of its settings.

One option for each field that has a `Flag`, in the order of the fields. An option that is not given
is None: a file or the environment may say otherwise, and then the default of the struct holds.
"""

from collections.abc import Callable
from datetime import timedelta
from enum import Enum, auto
from types import NoneType
from typing import Any, TypeVar, get_args

import click
import msgspec
from msgspec.structs import FieldInfo

from plimsoll.runtime.config import parse_duration, written_duration
from plimsoll.runtime.flags import Flag, PathKind, description, flags, plain_type

Command = TypeVar("Command", bound=Callable[..., Any])
Types = dict[Any, click.ParamType[Any]]
"""By the type of a field, where a command reads it in another way."""

DURATION = "DURATION"
DURATIONS: tuple[Any, ...] = (timedelta, timedelta | None)


class OptionDefaults(Enum):
    """Who has the last word where an option is not given."""

    OPEN = auto()
    """A file or the environment; help texts tell the default in words."""
    FINAL = auto()
    """The option itself: nothing else sets it."""


def settings_options(
    form: type[msgspec.Struct],
    types: Types | None = None,
    *,
    defaults: OptionDefaults = OptionDefaults.OPEN,
) -> Callable[[Command], Command]:
    """Decorates a command with the options of the struct."""

    def decorate(command: Command) -> Command:
        for field, flag in reversed(flags(form)):
            command = _option(field, flag, types or {}, defaults)(command)
        return command

    return decorate


def _option(
    field: FieldInfo, flag: Flag, types: Types, defaults: OptionDefaults
) -> Callable[[Command], Command]:
    name = flag.name or field.name.replace("_", "-")
    kind = plain_type(field.type)
    about = flag.help or description(field)
    shape: dict[str, Any] = {"default": None, "multiple": flag.gather is not None}
    names, switch = flag.spellings or (f"--{name}",), ""
    if kind is bool and bool not in types:
        switch = name
        if flag.off is None:
            shape["is_flag"] = True
        else:
            names = (f"--{name}/--{flag.off or f'no-{name}'}",)
    else:
        shape["type"] = types.get(kind) or _type(kind, flag)
    told = _told(field, flag, switch)
    if defaults is OptionDefaults.FINAL:
        default = _final_default(field)
        shape |= {"default": default, "show_default": default not in (None, "", False)}
    elif told:
        about += f"  [default: {told}]"
    metavar = flag.metavar or (DURATION if kind is timedelta else None)
    check = _checked_duration if kind in DURATIONS and kind not in types else None
    read = _callback(flag.gather or flag.parse or check)
    return click.option(*names, field.name, **shape, metavar=metavar, callback=read, help=about)


def _type(kind: Any, flag: Flag) -> click.ParamType[Any]:
    kind = next((each for each in get_args(kind) if each is not NoneType), kind)
    if flag.choices:
        return click.Choice(flag.choices)
    if flag.path is not None:
        is_file = flag.path is PathKind.FILE
        return click.Path(file_okay=is_file, dir_okay=not is_file)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return click.Choice([member.value for member in kind])
    if (flag.at_least, flag.at_most) != (None, None):
        bounded = click.IntRange if kind is int else click.FloatRange
        return bounded(flag.at_least, flag.at_most)
    numbers: Types = {int: click.INT, float: click.FLOAT}
    return numbers.get(kind, click.STRING)


def _checked_duration(text: str) -> str:
    """The text itself; `load_settings` reads it once more. Raises ValueError."""
    parse_duration(text)
    return text


def _callback(
    read: Callable[[Any], Any] | None,
) -> Callable[[click.Context, click.Parameter, Any], Any] | None:
    if read is None:
        return None

    def parsed(ctx: click.Context, param: click.Parameter, given: Any) -> Any:
        if given is None or given == ():
            return None
        try:
            return read(given)
        except ValueError as error:
            raise click.BadParameter(str(error), ctx=ctx, param=param) from error

    return parsed


def _final_default(field: FieldInfo) -> Any:
    """As click takes it, before it is parsed."""
    if isinstance(field.default, timedelta):
        return written_duration(field.default)
    if isinstance(field.default, Enum):
        return field.default.value
    return None if field.default is msgspec.NODEFAULT else field.default


def _told(field: FieldInfo, flag: Flag, switch: str) -> str:
    """The default in words. `switch` is the flag that switches the setting on."""
    if flag.default is not None:
        return flag.default
    match field.default:
        case bool(is_on) if switch:
            return switch if is_on else flag.off or f"no-{switch}"
        case bool(is_on):
            return str(is_on).lower()
        case timedelta() as duration:
            return written_duration(duration)
        case Enum() as member:
            return str(member.value)
        case int() | float() | str() as value:
            return str(value)
        case _:
            return ""
