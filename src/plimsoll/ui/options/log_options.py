"""How a process logs: the options that every process has."""

from typing import Annotated

from plimsoll.runtime.config import Settings
from plimsoll.runtime.flags import Flag
from plimsoll.runtime.log import LogFormat
from plimsoll.ui.options.settings_options import Command, OptionDefaults, settings_options

LEVELS = ("debug", "info", "warning", "error")
LogLevel = Annotated[str, Flag(choices=LEVELS)]


class LogFlags(Settings, frozen=True, kw_only=True):
    log_level: LogLevel = "info"
    log_format: Annotated[LogFormat, Flag()] = LogFormat.CONSOLE


def log_options(command: Command) -> Command:
    """Gives a command `log_level` and `log_format`."""
    return settings_options(LogFlags, defaults=OptionDefaults.FINAL)(command)
