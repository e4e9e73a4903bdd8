import pytest

from plimsoll.api.selectors.field import FieldSelector, FieldTerm, parse_field_selector


@pytest.mark.parametrize(
    ("text", "fields", "is_match"),
    [
        ("", {}, True),
        ("metadata.name=a", {"metadata.name": "a"}, True),
        ("metadata.name==a", {"metadata.name": "b"}, False),
        ("status.phase!=Failed", {"status.phase": "Running"}, True),
        ("spec.nodeName=", {}, True),
        ("a=1,b=2", {"a": "1", "b": "3"}, False),
        (r"a=x\,y\=z\\", {"a": "x,y=z\\"}, True),
    ],
)
def test_a_text_selects_fields(text: str, fields: dict[str, str], *, is_match: bool) -> None:
    assert parse_field_selector(text).matches(fields) is is_match


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_a_text_that_makes_no_sense_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        parse_field_selector(text)
    assert str(error.value) == complaint


def test_a_selector_tells_which_fields_it_needs() -> None:
    selector = parse_field_selector("metadata.name=a,status.phase!=Failed")
    assert selector.names == ("metadata.name", "status.phase")


def test_a_selector_is_shown_escaped_and_reads_back() -> None:
    selector = FieldSelector((FieldTerm("a", r"x,y=\z"), FieldTerm("b", "1", is_equal=False)))
    assert str(selector) == r"a=x\,y\=\\z,b!=1"
    assert parse_field_selector(str(selector)) == selector
