"""docs/reference/cli.md: every command and option, as click knows them."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from plimsoll.ui.cli.main import cli
from tools.reference.markdown import code, document, table

INTRODUCTION = """\
Data goes to stdout, remarks to stderr. Exit codes: 0 done, 1 no or found something, 2 bad usage.
`-h` works everywhere as well as `--help`."""
TOLD_DEFAULT = re.compile(r"\s*\[default: (.*)\]$")


def page() -> str:
    root = click.Context(cli, info_name="plimsoll")
    sections = [_section(context) for context in _commands(root)]
    return document("Command line", INTRODUCTION, *sections)


def _commands(context: click.Context) -> Iterator[click.Context]:
    yield context
    if not isinstance(context.command, click.Group):
        return
    for name in context.command.list_commands(context):
        command = context.command.get_command(context, name)
        if command is not None and not command.hidden:
            yield from _commands(click.Context(command, info_name=name, parent=context))


def _section(context: click.Context) -> str:
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = [f"## {context.command_path}", f"```text\n{usage}\n```", _help(command)]
    rows = [row for parameter in command.params if (row := _row(parameter, context))]
    if rows:
        parts.append(table(("option", "value", "default", "meaning"), rows))
    return "\n\n".join(part for part in parts if part)


def _help(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "").replace("\b\n", "")


def _row(parameter: click.Parameter, context: click.Context) -> tuple[str, str, str, str] | None:
    if not isinstance(parameter, click.Option):
        return None
    names = ", ".join(map(code, (*parameter.opts, *parameter.secondary_opts)))
    meaning, default = parameter.help or "", _default(parameter, context)
    if told := TOLD_DEFAULT.search(meaning):
        # Where a configuration file may say otherwise, click itself knows no default.
        meaning, default = meaning[: told.start()], code(told.group(1))
    return names, _value(parameter), default, meaning


def _value(option: click.Option) -> str:
    kind = option.type
    if option.is_flag:
        return ""
    if isinstance(kind, click.Choice):
        return " or ".join(code(str(choice)) for choice in kind.choices)
    if isinstance(kind, click.IntRange | click.FloatRange):
        noun = "whole number" if isinstance(kind, click.IntRange) else "number"
        bounds = (("from", kind.min), ("to", kind.max))
        return " ".join([noun, *(f"{word} {bound}" for word, bound in bounds if bound is not None)])
    several = ", may be repeated" if option.multiple else ""
    return (option.metavar or kind.name).lower() + several


def _default(option: click.Option, context: click.Context) -> str:
    value: Any = option.get_default(context)
    if option.is_flag or value in (None, "", ()) or not isinstance(value, str | int | float | Path):
        return ""
    return code(str(value))
