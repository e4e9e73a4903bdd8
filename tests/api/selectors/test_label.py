import pytest
from hypothesis import given, strategies as st

from plimsoll.api.selectors.label import (
    EVERYTHING,
    NOTHING,
    LabelRequirementSpec,
    LabelSelector,
    LabelSelectorSpec,
    parse_label_selector,
)


@pytest.mark.parametrize(
    ("text", "labels", "is_match"),
    [
        ("", {}, True),
        ("app", {"app": ""}, True),
        ("!app", {"app": "web"}, False),
        ("app=web", {"app": "web"}, True),
        ("app!=web", {}, True),
        ("app in (web, db)", {"app": "db"}, True),
        ("app notin (web)", {"app": "web"}, False),
        ("app=web,tier=", {"app": "web", "tier": ""}, True),
        ("size>5", {"size": "10"}, True),
        ("size>5", {"size": "large"}, False),
        ("size<5", {}, False),
        ("in in (in)", {"in": "in"}, True),
    ],
)
def test_a_text_selects_labels(text: str, labels: dict[str, str], *, is_match: bool) -> None:
    assert parse_label_selector(text).matches(labels) is is_match


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" b = 1 , a ", "a,b=1"),
        ("a in (y,x,y)", "a in (x,y)"),
        ("a in (x,)", "a in (,x)"),
        ("a notin ()", "a notin ()"),
        ("a==x", "a==x"),
    ],
)
def test_a_selector_is_shown_in_canonical_form(text: str, shown: str) -> None:
    assert str(parse_label_selector(text)) == shown


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a=x,", "found '', expected: identifier after ','"),
        ("(a)", "found '(', expected: !, identifier, or 'end of string'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a=x y", "found 'y', expected: ',' or 'end of string'"),
        ("/a=x", 'unable to parse requirement: <nil>: Invalid value: "/a": prefix part'),
    ],
)
def test_a_text_that_makes_no_sense_is_refused_in_the_words_of_the_api(
    text: str, complaint: str
) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        parse_label_selector(text)
    assert str(error.value).startswith(complaint)


def test_a_missing_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert LabelSelector.of(None) == NOTHING
    assert LabelSelector.of(LabelSelectorSpec()) == EVERYTHING
    assert not NOTHING.matches({})
    assert EVERYTHING.matches({})
    assert EVERYTHING.is_empty
    assert not NOTHING.is_empty


def test_labels_and_expressions_must_all_hold() -> None:
    selector = LabelSelector.of(
        LabelSelectorSpec(
            match_labels={"app": "web"},
            match_expressions=(LabelRequirementSpec(key="tier", operator="Exists"),),
        )
    )
    assert selector.matches({"app": "web", "tier": "a"})
    assert not selector.matches({"app": "web"})
    assert str(selector) == "app=web,tier"


def test_an_operator_that_label_selectors_do_not_have_is_refused() -> None:
    spec = LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key="a", operator="Gt"),))
    with pytest.raises(ValueError, match='"Gt" is not a valid label selector operator'):
        LabelSelector.of(spec)


words = st.from_regex(r"[a-z0-9]{1,4}", fullmatch=True)
requirements = st.one_of(
    words,
    st.builds("!{}".format, words),
    st.builds("{}{}{}".format, words, st.sampled_from(["=", "==", "!="]), words),
    st.builds(
        lambda key, operator, values: f"{key} {operator} ({','.join(values)})",
        words,
        st.sampled_from(["in", "notin"]),
        st.lists(words, max_size=3),
    ),
)


@given(st.lists(requirements, max_size=4), st.dictionaries(words, words))
def test_the_text_of_a_selector_selects_the_same(parts: list[str], labels: dict[str, str]) -> None:
    selector = parse_label_selector(",".join(parts))
    again = parse_label_selector(str(selector))
    assert again.matches(labels) == selector.matches(labels)
    assert str(again) == str(selector)


def test_blanks_at_the_end_are_passed_over_however_many_there_are() -> None:
    assert parse_label_selector("a" + " " * 50_000).matches({"a": ""})
