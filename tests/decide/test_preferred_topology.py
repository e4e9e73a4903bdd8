import pytest
from hypothesis import given, strategies as st

from plimsoll.decide.preferred_topology import (
    PreferredTopology,
    find_preferred,
    preferred_text,
)

EAST_B = [{"region": "east"}, {"zone": "b"}]


def test_what_a_driver_tells_is_what_a_scheduler_reads() -> None:
    text = preferred_text(EAST_B)
    assert text == '[{"region":"east"},{"zone":"b"}]'
    preferred = find_preferred(text)
    assert preferred == PreferredTopology(((("region", "east"),), (("zone", "b"),)))
    assert preferred.labels == {"region": "east", "zone": "b"}


def test_a_single_object_is_a_domain_of_one_level() -> None:
    preferred = find_preferred('{"region": "east", "zone": "b"}')
    assert preferred is not None
    assert preferred.matching({"region": "east", "zone": "a"}) == 0
    assert preferred.matching({"region": "east", "zone": "b"}) == 1


@pytest.mark.parametrize(
    ("labels", "matching"),
    [
        ({"region": "east", "zone": "b"}, 2),
        ({"region": "east", "zone": "a"}, 1),
        ({"region": "east"}, 1),
        ({"region": "west", "zone": "b"}, 0),
        ({}, 0),
    ],
    ids=["same-zone", "same-region", "no-zone", "zone-of-that-name-elsewhere", "no-labels"],
)
def test_a_level_counts_only_within_the_wider_one(labels: dict[str, str], matching: int) -> None:
    preferred = find_preferred(preferred_text(EAST_B))
    assert preferred is not None
    assert preferred.matching(labels) == matching


def test_without_a_level_nothing_is_told() -> None:
    assert preferred_text([]) == ""


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "[{}]", "{", "b", '["zone"]', '[{"zone": 1}]', "null", "\ud800"),
        "[" * 2000,
        preferred_text([{"zone": "a"}] * 9),
        preferred_text([{"zone": "a" * 3000}]),
    ],
)
def test_text_that_says_nothing_of_the_kind_is_passed_over(text: str) -> None:
    assert find_preferred(text) is None


@given(text=st.text())
def test_no_text_does_any_harm(text: str) -> None:
    find_preferred(text)
