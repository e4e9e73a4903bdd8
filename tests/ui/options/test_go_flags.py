"""Flags as Go programs take them."""

from typing import Any

import click
import pytest
from click.testing import CliRunner

from plimsoll.ui.options.go_flags import Gates, GoBool, GoCommand, Pairs


@click.command(cls=GoCommand)
@click.option("--enable", type=GoBool(), default=False)
@click.option("--name", default="")
@click.option("--labels", type=Pairs(":"), default=None)
@click.option("--pairs", type=Pairs(), default=None)
@click.option("--gates", type=Gates(), default=None)
@click.argument("rest", nargs=-1)
def command(**given: Any) -> None:
    click.echo(repr({name: value for name, value in given.items() if value}))


def given(*arguments: str) -> Any:
    outcome = CliRunner().invoke(command, arguments)
    assert outcome.exit_code == 0, outcome.output
    return eval(outcome.output)  # noqa: S307 - our own repr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--enable",), {"enable": True}),
        (("-enable",), {"enable": True}),
        (("--enable=true",), {"enable": True}),
        (("-enable=T",), {"enable": True}),
        (("--enable=1",), {"enable": True}),
        (("--enable=false",), {}),
        (("--enable=0",), {}),
        (("--enable", "--enable=false"), {}),
        (("--name=a",), {"name": "a"}),
        (("-name", "a"), {"name": "a"}),
        (("--name=a=b",), {"name": "a=b"}),
        (("--name", "-1"), {"name": "-1"}),
        (("--name=-1",), {"name": "-1"}),
        (("--name", "--enable"), {"name": "--enable"}),
        (("--name", "a", "--enable"), {"name": "a", "enable": True}),
        (("--labels=a:b,c:d",), {"labels": {"a": "b", "c": "d"}}),
        (("--pairs=a=b, c = d,",), {"pairs": {"a": "b", "c": "d"}}),
        (("--gates=A=true,B=false",), {"gates": {"A": True, "B": False}}),
        (("--", "-enable"), {"rest": ("-enable",)}),
    ],
)
def test_flags_mean_what_they_mean_to_go(
    arguments: tuple[str, ...], expected: dict[str, object]
) -> None:
    assert given(*arguments) == expected


def test_a_boolean_never_takes_the_next_argument() -> None:
    assert given("--enable", "false") == {"enable": True, "rest": ("false",)}


@pytest.mark.parametrize(
    ("argument", "complaint"),
    [
        ("--enable=maybe", "'maybe' is neither true nor false"),
        ("--labels=a=b", "'a=b' is not of the form key:value"),
        ("--gates=A", "'A' is not of the form key=value"),
        ("--gates=A=perhaps", "'perhaps' is neither true nor false"),
        ("--unknown", "No such option"),
    ],
)
def test_what_makes_no_sense_is_bad_usage(argument: str, complaint: str) -> None:
    outcome = CliRunner().invoke(command, [argument])
    assert outcome.exit_code == 2
    assert complaint in outcome.output
