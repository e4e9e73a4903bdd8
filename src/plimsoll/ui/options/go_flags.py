"""Flags as Go programs take them, for commands that stand in for one.

`-name=value` means `--name=value`; a boolean may be given as `--name`, `--name=true` or
`--name=false`; lists of pairs are `a=b,c=d` or `a:b,c:d`. Manifests rely on all of it.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import click

TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})


class GoBool(click.ParamType[bool]):
    name = "bool"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bool:
        if isinstance(value, bool):
            return value
        if value not in TRUE | FALSE:
            self.fail(f"{value!r} is neither true nor false", param, ctx)
        return value in TRUE


class Pairs(click.ParamType[dict[str, str]]):
    """`a=b,c=d` as a mapping, or with another sign between key and value."""

    name = "pairs"

    def __init__(self, sign: str = "=") -> None:
        self._sign = sign

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, str]:
        if isinstance(value, Mapping):
            return dict(value)
        found: dict[str, str] = {}
        for pair in filter(None, str(value).split(",")):
            key, is_pair, text = pair.partition(self._sign)
            if not is_pair:
                self.fail(f"{pair!r} is not of the form key{self._sign}value", param, ctx)
            found[key.strip()] = text.strip()
        return found


class Gates(click.ParamType[dict[str, bool]]):
    """`Topology=true,…` as a mapping to booleans."""

    name = "gates"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, bool]:
        pairs = Pairs().convert(value, param, ctx)
        return {name: GoBool().convert(text, param, ctx) for name, text in pairs.items()}


class GoCommand(click.Command):
    """A command whose arguments are read as Go reads them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = [param for param in self.params if isinstance(param, click.Option)]
        booleans = {
            name for param in options if isinstance(param.type, GoBool) for name in param.opts
        }
        valued = {name for param in options for name in param.opts} - booleans
        return super().parse_args(ctx, list(_spelled_out(args, booleans, valued)))


def _spelled_out(
    arguments: list[str], booleans: Collection[str], valued: Collection[str]
) -> Iterator[str]:
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            yield argument
            break
        if not argument.startswith("-") or argument in ("-", "-h"):
            yield argument
            continue
        long = argument if argument.startswith("--") else f"-{argument}"
        name, has_value, _ = long.partition("=")
        if name in booleans and not has_value:
            # Go never takes the next argument for the value of a boolean; click would.
            yield f"{long}=true"
        elif name in valued and not has_value and (value := next(rest, None)) is not None:
            # What follows is its value, even if it looks like a flag: -1.
            yield f"{long}={value}"
        else:
            yield long
    yield from rest
