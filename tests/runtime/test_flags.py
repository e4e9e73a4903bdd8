from datetime import timedelta
from typing import Annotated

import pytest
from msgspec import Meta
from msgspec.structs import fields

from plimsoll.runtime.config import Settings, Sources, load_settings
from plimsoll.runtime.flags import (
    Flag,
    description,
    flags,
    gather_joined,
    gather_pairs,
    gather_values,
    parse_list,
    plain_type,
    read_arguments,
)


class Example(Settings, frozen=True, kw_only=True):
    both: Annotated[int, Meta(description="In the reference."), Flag("In the help.")] = 1
    only_flag: Annotated[str, Flag("Everywhere.")] = ""
    only_described: Annotated[timedelta, Meta(description="For files.")] = timedelta(seconds=1)
    plain: bool = False


def test_fields_with_a_flag_are_found_in_their_order() -> None:
    assert [field.name for field, _ in flags(Example)] == ["both", "only_flag"]


def test_a_field_describes_itself() -> None:
    assert [description(field) for field in fields(Example)] == [
        "In the reference.",
        "Everywhere.",
        "For files.",
        "",
    ]


def test_types_are_told_without_metadata() -> None:
    assert [plain_type(field.type) for field in fields(Example)] == [int, str, timedelta, bool]


def test_a_duration_with_a_description_is_read_as_one() -> None:
    settings = load_settings(Example, Sources(flags={"only_described": "1m30s"}))
    assert settings.only_described == timedelta(seconds=90)


def test_texts_are_read_as_flags_are_written() -> None:
    assert parse_list("a, b,") == ("a", "b")
    assert parse_list("") is None
    assert gather_joined(("a", "b")) == "a,b"
    assert gather_joined(("",)) is None
    assert gather_pairs(("zone=a", "rack=r=1")) == {"zone": "a", "rack": "r=1"}
    assert gather_values(("size=5", "on=true")) == {"size": 5, "on": True}


@pytest.mark.parametrize("text", ["zone", "=a"])
def test_what_is_no_pair_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write KEY=VALUE"):
        gather_pairs((text,))


class Command(Settings, frozen=True, kw_only=True):
    addresses: Annotated[str, Flag(name="csi-address", gather=gather_joined)] = ""
    dry_run: Annotated[bool, Flag()] = False
    pause: Annotated[timedelta, Flag()] = timedelta(seconds=1)


def test_arguments_say_the_same_to_a_program_that_is_several_commands() -> None:
    words = ["--csi-address", "/a", "--dry-run", "--pause", "250ms", "--csi-address", "/b"]
    settings = load_settings(Command, Sources(flags=read_arguments(Command, words)))
    assert settings == Command(addresses="/a,/b", dry_run=True, pause=timedelta(milliseconds=250))


def test_an_argument_that_the_command_does_not_have_is_an_error() -> None:
    with pytest.raises(ValueError, match="--color is unknown"):
        read_arguments(Command, ["--color", "red"])
