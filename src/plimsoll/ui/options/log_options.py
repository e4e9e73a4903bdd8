"""How a process logs: the options that every process has."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from plimsoll.runtime.log import LogFormat

Command = TypeVar("Command", bound=Callable[..., Any])

LEVELS = click.Choice(["debug", "info", "warning", "error"])
FORMATS = click.Choice([form.value for form in LogFormat])


def log_options(command: Command) -> Command:
    """Gives a command `log_level` and `log_format`."""
    command = click.option("--log-format", type=FORMATS, default=LogFormat.CONSOLE.value)(command)
    return click.option("--log-level", type=LEVELS, default="info", show_default=True)(command)
