from typing import Any

import pytest

from plimsoll.apiserver.model.yaml_scalars import plain_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("y", True),
        ("OFF", False),
        ("12", 12),
        ("-3", -3),
        ("0x1F", 31),
        ("0o12", 10),
        ("1e3", 1000),
        ("12:30", "12:30"),
        ("=", "="),
        ("<<", "<<"),
        ("v1", "v1"),
    ],
)
def test_text_without_quotes_means_what_it_means_to_a_real_server(text: str, value: Any) -> None:
    found = plain_value(text)

    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", [".inf", "-.INF", ".nan"])
def test_numbers_that_json_does_not_have_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        plain_value(text)
