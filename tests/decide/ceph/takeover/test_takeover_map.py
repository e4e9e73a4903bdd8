import json
from typing import Any

import pytest

from plimsoll.decide.ceph.takeover.takeover_map import (
    TakeoverMap,
    find_domain,
    parse_takeover_map,
    with_takeover,
    without_takeover,
)


def text(version: Any = 2, **takeover: Any) -> str:
    return json.dumps({"version": version, "topology-takeover": takeover, "clusters": []})


def test_the_map_names_the_targets_of_each_lost_domain() -> None:
    given = text(b=["a", "c", "a"], d=["all", "a"])
    assert parse_takeover_map(given) == TakeoverMap(
        targets_by_source={"b": ("a", "c"), "d": ("all",)}
    )


@pytest.mark.parametrize("given", ['{"version": 2}', '[{"clusterID": "c1"}]'])
def test_a_map_may_name_no_takeover(given: str) -> None:
    assert parse_takeover_map(given) == TakeoverMap()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        pytest.param(text(version=3), "version 3 is not known; 2 is", id="newer"),
        pytest.param(text(version="2"), 'version "2" is not known', id="a-text"),
        pytest.param("{}", "version null is not known", id="none"),
        pytest.param("7", "must be an object", id="no-object"),
        pytest.param("{", "Expecting", id="no-json"),
        pytest.param("[" * 100_000, "too deeply", id="too-deep"),
        pytest.param('{"version": 2, "topology-takeover": []}', "must be an object", id="list"),
        pytest.param('{"version": 2, "version": 2}', "'version' is there twice", id="twice"),
        pytest.param(text(b="a"), "'b' needs a list", id="no-list"),
        pytest.param(text(b=[1]), "'b' needs a list", id="no-names"),
        pytest.param(text(b=[]), "'b' names no domain", id="no-targets"),
        pytest.param(text(b=["a", "b"]), "'b' cannot take over itself", id="itself"),
    ],
)
def test_what_cannot_be_understood_is_refused(given: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_takeover_map(given)


KNOWN = [("a",), ("a", "r1"), ("b",), ("b", "r1"), ("b", "r2")]


def test_a_domain_is_named_by_its_path_or_by_the_end_of_it() -> None:
    assert find_domain("b", KNOWN) == ("b",)
    assert find_domain("b.r2", KNOWN) == ("b", "r2")
    assert find_domain("r2", KNOWN) == ("b", "r2")
    assert find_domain("c", KNOWN) is None


def test_a_name_of_several_domains_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'r1' may be a\.r1 or b\.r1; name the whole path"):
        find_domain("r1", KNOWN)


def test_an_entry_is_added_and_taken_off_and_the_rest_stays() -> None:
    text = '{"version": 2, "clusters": [1], "topology-takeover": {"a": ["c"]}}'
    more = with_takeover(text, "b", ("all",))
    assert parse_takeover_map(more).targets_by_source == {"a": ("c",), "b": ("all",)}
    assert json.loads(without_takeover(more, "b")) == json.loads(text)


def test_an_empty_text_becomes_a_map() -> None:
    assert parse_takeover_map(with_takeover("", "b", ("a",))).targets_by_source == {"b": ("a",)}


@pytest.mark.parametrize("text", ["[]", '{"version": 3}', "{"])
def test_a_map_that_is_not_understood_is_not_edited(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        with_takeover(text, "b", ("a",))
