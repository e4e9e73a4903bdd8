"""Options are what the struct says of its fields."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any

import click
import pytest
from click.testing import CliRunner
from msgspec import Meta

from plimsoll.runtime.config import Settings, Sources, load_settings
from plimsoll.runtime.flags import Flag, gather_pairs
from plimsoll.ui.options.settings_options import OptionDefaults, settings_options


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Example(Settings, frozen=True, kw_only=True):
    wait: Annotated[timedelta, Flag("How long.")] = timedelta(seconds=90)
    port: Annotated[int, Meta(description="Where."), Flag(at_least=0, at_most=9)] = 7
    colour: Annotated[Colour | None, Flag("Which.", default="none")] = None
    is_on: Annotated[bool, Flag("Whether.", name="on")] = True
    labels: Annotated[dict[str, str], Flag("Pairs.", name="label", gather=gather_pairs)] = {}  # noqa: RUF012
    hidden: Annotated[str, Meta(description="For files.")] = ""


def run(
    *arguments: str, defaults: OptionDefaults = OptionDefaults.OPEN
) -> tuple[dict[str, Any], str]:
    found: dict[str, Any] = {}

    @click.command()
    @settings_options(Example, defaults=defaults)
    def command(**given: Any) -> None:
        found.update(given)

    ended = CliRunner().invoke(command, arguments, terminal_width=200)
    return found, ended.output


def test_what_is_not_given_is_left_to_files_and_the_environment() -> None:
    found, _ = run()
    assert found == dict.fromkeys(["wait", "port", "colour", "is_on", "labels"])
    assert load_settings(Example, Sources(flags=found)) == Example()


@pytest.mark.parametrize("defaults", OptionDefaults)
def test_a_duration_without_a_unit_is_refused_by_the_name_of_its_option(
    defaults: OptionDefaults,
) -> None:
    _, output = run("--wait", "10", defaults=defaults)
    assert "Invalid value for '--wait': \"10\" is not a duration; write it like 90s" in output


def test_what_is_given_arrives_by_the_name_of_the_field() -> None:
    given = ["--wait", "2m", "--port", "3", "--colour", "blue", "--no-on", "--label", "a=b"]
    found, _ = run(*given, "--label", "c=d")
    assert load_settings(Example, Sources(flags=found)) == Example(
        wait=timedelta(minutes=2),
        port=3,
        colour=Colour.BLUE,
        is_on=False,
        labels={"a": "b", "c": "d"},
    )


def test_help_tells_meanings_and_defaults() -> None:
    _, text = run("--help")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "--wait DURATION How long. [default: 1m30s]" in lines
    assert "--port INTEGER RANGE Where. [default: 7] [0<=x<=9]" in lines
    assert "--colour [red|blue] Which. [default: none]" in lines
    assert "--on / --no-on Whether. [default: on]" in lines
    assert "--label TEXT Pairs." in lines
    assert "hidden" not in text


def test_an_option_that_nothing_else_sets_has_the_default_itself() -> None:
    found, _ = run(defaults=OptionDefaults.FINAL)
    assert (found["wait"], found["port"], found["is_on"]) == ("1m30s", 7, True)
    assert load_settings(Example, Sources(flags=found)) == Example()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--port", "10"), "0<=x<=9"), (("--label", "a"), "write KEY=VALUE")],
)
def test_what_cannot_be_is_refused(arguments: tuple[str, str], said: str) -> None:
    found, text = run(*arguments)
    assert not found
    assert said in text
