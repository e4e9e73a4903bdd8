"""Which names are taken, which refused."""

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.names import (
    dns_label_errors,
    dns_subdomain_errors,
    label_value_errors,
    name_is_dns_label,
    name_is_dns_subdomain,
    name_is_path_segment,
    qualified_name_errors,
)


@pytest.mark.parametrize("name", ["a", "a-b", "0", "a" * 63])
def test_labels_are_taken(name: str) -> None:
    assert dns_label_errors(name) == []
    assert dns_subdomain_errors(f"{name}.{name}") == []


@pytest.mark.parametrize(
    "name", ["", "A", "-a", "a-", "a.b", "a_b", "a\n", "\N{LATIN SMALL LETTER A WITH DIAERESIS}"]
)
def test_what_is_no_label_is_refused(name: str) -> None:
    assert len(dns_label_errors(name)) == 1


def test_length_is_limited() -> None:
    assert dns_label_errors("a" * 64) == ["must be no more than 63 bytes"]
    assert dns_subdomain_errors("a" * 254) == ["must be no more than 253 bytes"]
    assert label_value_errors("a" * 64) == ["must be no more than 63 bytes"]


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "a..b", "a.-b", "A.b"])
def test_what_is_no_subdomain_is_refused(name: str) -> None:
    assert len(dns_subdomain_errors(name)) == 1


@pytest.mark.parametrize("key", ["a", "A_b.c-d", "example.com/Name", "0"])
def test_keys_of_labels_are_taken(key: str) -> None:
    assert qualified_name_errors(key) == []


@pytest.mark.parametrize("key", ["", "/a", "a/", "a/b/c", "Example.com/a", "-a", "a" * 64])
def test_what_is_no_key_of_a_label_is_refused(key: str) -> None:
    assert qualified_name_errors(key)


@pytest.mark.parametrize("value", ["", "a", "A_b.c-d"])
def test_values_of_labels_are_taken(value: str) -> None:
    assert label_value_errors(value) == []


@pytest.mark.parametrize("value", ["-", "a-", "a b", "a/b"])
def test_what_is_no_value_of_a_label_is_refused(value: str) -> None:
    assert len(label_value_errors(value)) == 1


def test_a_prefix_may_end_in_a_dash_because_more_follows() -> None:
    for check in (name_is_dns_label, name_is_dns_subdomain):
        assert check("web-", True) == []
        assert check("web-", False) != []
        assert check("-", True) != []


@pytest.mark.parametrize(
    ("name", "taken"), [("system:admin", True), ("a/b", False), ("a%b", False), ("..", False)]
)
def test_a_path_segment_is_almost_anything(name: str, *, taken: bool) -> None:
    assert (name_is_path_segment(name, False) == []) is taken


@given(st.text(max_size=70))
def test_every_label_is_a_subdomain(name: str) -> None:
    if not dns_label_errors(name):
        assert dns_subdomain_errors(name) == []
