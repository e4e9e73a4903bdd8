"""Paths and options, taken apart or refused."""

import re

import pytest

from plimsoll.apiserver.http.requests import Query, Target, parse_integer, parse_target
from plimsoll.apiserver.model.status import ApiError
from plimsoll.wire.transport import Request

Parts = tuple[str, str, str, str]


def parts(target: Target) -> Parts:
    return target.resource.qualified_name, target.namespace, target.name, target.subresource


@pytest.mark.parametrize(
    ("path", "named"),
    [
        pytest.param("/api/v1/pods", ("pods", "", "", ""), id="all-namespaces"),
        pytest.param("/api/v1/namespaces/ns/pods", ("pods", "ns", "", ""), id="one-namespace"),
        pytest.param("/api/v1/namespaces/ns/pods/p", ("pods", "ns", "p", ""), id="one-object"),
        pytest.param(
            "/api/v1/namespaces/ns/pods/p/status", ("pods", "ns", "p", "status"), id="a-part"
        ),
        pytest.param(
            "/api/v1/persistentvolumes/v", ("persistentvolumes", "", "v", ""), id="cluster-scoped"
        ),
        pytest.param(
            "/apis/storage.k8s.io/v1/storageclasses/fast",
            ("storageclasses.storage.k8s.io", "", "fast", ""),
            id="in-a-group",
        ),
        pytest.param("/api/v1/namespaces", ("namespaces", "", "", ""), id="namespaces"),
        pytest.param("/api/v1/namespaces/ns", ("namespaces", "", "ns", ""), id="a-namespace"),
        pytest.param(
            "/api/v1/namespaces/ns/finalize",
            ("namespaces", "", "ns", "finalize"),
            id="a-part-of-a-namespace",
        ),
        pytest.param(
            "/api/v1/persistentvolumes/a%20b", ("persistentvolumes", "", "a b", ""), id="encoded"
        ),
    ],
)
def test_a_path_names_a_target(path: str, named: Parts) -> None:
    assert parts(parse_target(path)) == named


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/api/v1/unknown", id="unknown-resource"),
        pytest.param("/api/v2/pods", id="unknown-version"),
        pytest.param("/apis/nobody/v1/pods", id="unknown-group"),
        pytest.param("/api/v1/pods/p", id="namespaced-object-without-namespace"),
        pytest.param("/api/v1/namespaces/ns/persistentvolumes", id="cluster-scoped-in-a-namespace"),
        pytest.param("/api/v1/namespaces/ns/pods/p/nothing", id="unknown-part"),
        pytest.param("/api/v1/namespaces/ns/pods/p/status/more", id="too-deep"),
        pytest.param("/api/v1/watch", id="nothing-to-watch"),
    ],
)
def test_a_path_that_names_nothing_is_not_found(path: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse_target(path)
    assert refused.value.code == 404


def test_the_old_watch_prefix_is_understood() -> None:
    target = parse_target("/api/v1/watch/namespaces/ns/pods")
    assert (target.watch, parts(target)) == (True, ("pods", "ns", "", ""))


def test_keys_of_a_namespace_share_a_prefix_that_no_other_namespace_has() -> None:
    target = parse_target("/api/v1/namespaces/ns/pods/p")
    assert (target.prefix, target.key) == ("ns/", "ns/p")


def query(**values: str) -> Query:
    return Query(Request(method="GET", path="/", query=tuple(values.items())))


def test_the_first_of_several_values_counts() -> None:
    asked = Query(Request(method="GET", path="/", query=(("limit", "1"), ("limit", "2"))))
    assert (asked.text("limit"), asked.all("limit")) == ("1", ["1", "2"])


@pytest.mark.parametrize("text", ["1", "+1", "-1", "0", "9223372036854775807"])
def test_numbers_are_read(text: str) -> None:
    assert query(limit=text).integer("limit") == int(text)


@pytest.mark.parametrize(
    "text",
    ["x", "1.0", " 1", "1_000", "0x1", "--1", "+", "9223372036854775808", "\N{SUPERSCRIPT TWO}"],
)
def test_what_is_no_number_of_64_bits_is_a_bad_request(text: str) -> None:
    with pytest.raises(ApiError) as refused:
        query(limit=text).integer("limit")
    assert refused.value.code == 400
    with pytest.raises(ValueError, match=re.escape(text)):
        parse_integer(text)


@pytest.mark.parametrize(
    ("text", "meant"), [("true", True), ("1", True), ("", True), ("false", False), ("0", False)]
)
def test_switches_are_on_unless_they_say_no(text: str, *, meant: bool) -> None:
    assert query(watch=text).boolean("watch") is meant
    assert query().boolean("watch") is None
