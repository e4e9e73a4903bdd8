import pytest

from plimsoll.api.selectors.complaints import (
    invalid,
    joined,
    label_key_complaint,
    label_value_complaint,
    quoted,
)


@pytest.mark.parametrize("key", ["a", "A.b_c-1", "example.com/a", "a" * 63])
def test_a_good_key_gives_no_complaint(key: str) -> None:
    assert label_key_complaint("key", key) is None


@pytest.mark.parametrize(
    ("key", "part"),
    [
        ("/a", "prefix part must be non-empty"),
        ("a/", "name part must be non-empty; name part must consist of"),
        ("-a", "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"),
        ("UP/a", "prefix part a lowercase RFC 1123 subdomain must consist of"),
        ("a/b/c", "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"),
        ("a" * 64, "name part must be no more than 63 bytes"),
    ],
)
def test_a_bad_key_is_explained(key: str, part: str) -> None:
    complaint = label_key_complaint("key", key)
    assert complaint is not None
    assert part in complaint


def test_a_bad_value_is_explained_with_examples() -> None:
    complaint = label_value_complaint("values[0]", "-")
    assert complaint is not None
    assert complaint.startswith('values[0]: Invalid value: "-": a valid label must be')
    assert "(e.g. 'MyValue',  or 'my_value',  or '12345', regex" in complaint


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('say "a\\b"', r'"say \"a\\b\""'),
        ("tab\tbell\a", r'"tab\tbell\a"'),
        ("é\u200b\x01\U000e0001", r'"é\u200b\x01\U000e0001"'),
    ],
)
def test_values_are_quoted_so_that_they_can_be_seen(text: str, shown: str) -> None:
    assert quoted(text) == shown


def test_lists_are_shown_as_json() -> None:
    assert invalid("values", ("<", "b"), "no") == r'values: Invalid value: ["\u003c","b"]: no'
    assert invalid("values", None, "no") == "values: Invalid value: null: no"


def test_several_complaints_are_put_in_brackets_and_each_is_made_once() -> None:
    assert joined(["a"]) == "a"
    assert joined(["a", "b", "a"]) == "[a, b]"
