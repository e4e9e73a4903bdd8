from collections.abc import Callable, Iterator

import pytest

from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods import values


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (values.dns_search, "_a.b."),
        (values.config_key, "a.b_c"),
        (values.descending_path, "a/b"),
        (values.file_below_volume, ".hidden"),
        (values.port_number_or_name, "http"),
    ],
)
def test_sound_values_pass(check: Callable[[str, str], Iterator[FieldError]], value: str) -> None:
    assert not list(check(value, "f"))


@pytest.mark.parametrize(
    ("check", "value", "count"),
    [
        (values.dns_search, "a b", 1),
        (values.config_key, "..", 1),
        (values.config_key, "a/b", 1),
        (values.descending_path, "/a/../b", 2),
        (values.file_below_volume, "..data", 1),
        (values.file_below_volume, "../data", 1),
        (values.port_number_or_name, "80", 1),
        (values.port_number_or_name, "-a--b-", 2),
    ],
)
def test_each_fault_of_a_value_is_named(
    check: Callable[[str, str], Iterator[FieldError]], value: str, count: int
) -> None:
    assert len(list(check(value, "f"))) == count


def test_the_same_complaint_is_made_once() -> None:
    one, other = FieldError.invalid("a", {}, "x"), FieldError.invalid("a", {}, "y")

    assert values.distinct([one, other, one]) == [one, other]
