"""Tokens by which readers know whether a report counts a volume in."""

from dataclasses import replace

import msgspec
import pytest

from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.decide.capacity.reports import (
    CapacityAnswer,
    CapacitySettings,
    about_segment,
    decide_report,
)
from plimsoll.decide.capacity.tokens import CAPACITY_TOKEN, CapacityToken, find_token
from plimsoll.decide.plan import NOTHING, Patch
from tests.builders import CLASS, DRIVER, ZONE, a_capacity

GIB = 2**30
SETTINGS = CapacitySettings(driver=DRIVER, publisher="external-provisioner", namespace="plimsoll")
ABOUT = about_segment(((ZONE, "a"),), CLASS)
NOW = CapacityToken(1_700_000_000, 3, 5)
ANSWER = CapacityAnswer(5 * GIB, token=NOW)


def telling(token: CapacityToken | None) -> CSIStorageCapacity:
    made = a_capacity(segment={ZONE: "a"}, gib=5)
    annotations = {} if token is None else {CAPACITY_TOKEN: str(token)}
    metadata = msgspec.structs.replace(made.metadata, annotations=annotations)
    return msgspec.structs.replace(made, metadata=metadata)


def test_a_token_is_read_as_it_was_written() -> None:
    assert find_token({CAPACITY_TOKEN: str(NOW)}) == NOW
    assert find_token({}) is None


@pytest.mark.parametrize("text", ["", "1", "1.2", "1.2.3.4", "1.2.-3", "a.b.c", "1..2", "٣.1.1"])
def test_nonsense_is_no_token(text: str) -> None:
    assert find_token({CAPACITY_TOKEN: text}) is None


def test_later_leaders_have_larger_tokens() -> None:
    earlier = NOW._replace(counter=99)
    assert earlier < NOW._replace(transitions=4, counter=0)
    assert earlier < NOW._replace(since=NOW.since + 1, transitions=0, counter=0)


def test_a_token_alone_is_not_written_unless_a_volume_needs_it() -> None:
    older = telling(NOW._replace(counter=2))
    assert decide_report(older, ANSWER, ABOUT, SETTINGS) == NOTHING
    reached = NOW._replace(counter=2)
    assert decide_report(older, ANSWER, ABOUT, SETTINGS, owed=reached) == NOTHING
    (write,) = decide_report(older, ANSWER, ABOUT, SETTINGS, owed=NOW._replace(counter=3)).writes
    assert isinstance(write, Patch)
    assert write.patch["metadata"] == {"annotations": {CAPACITY_TOKEN: str(NOW)}}
    assert write.patch["capacity"] == "5Gi"


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(None, id="without"),
        pytest.param(NOW._replace(since=NOW.since + 9), id="of-another-line-of-leaders"),
    ],
)
def test_an_object_without_a_usable_token_gets_one(told: CapacityToken | None) -> None:
    (write,) = decide_report(telling(told), ANSWER, ABOUT, SETTINGS).writes
    assert isinstance(write, Patch)
    assert write.patch["metadata"]["annotations"] == {CAPACITY_TOKEN: str(NOW)}


def test_another_number_is_written_with_the_token_of_its_report() -> None:
    less = replace(ANSWER, available_bytes=GIB)
    (write,) = decide_report(telling(NOW._replace(counter=4)), less, ABOUT, SETTINGS).writes
    assert isinstance(write, Patch)
    assert write.patch["metadata"]["annotations"] == {CAPACITY_TOKEN: str(NOW)}
