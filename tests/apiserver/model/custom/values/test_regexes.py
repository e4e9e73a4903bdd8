import pytest

from plimsoll.apiserver.model.custom.values import regexes


def test_a_pattern_is_searched_anywhere_and_in_gos_syntax() -> None:
    assert regexes.matches("b+", "abbc")
    assert regexes.matches(r"^\p{Greek}+$", "αβγ")
    assert not regexes.matches("^b$", "abc")


@pytest.mark.parametrize("pattern", ["([", "(?=a)", r"(a)\1", "((a{100}){100}){100}", "a" * 20_000])
def test_what_go_refuses_or_what_is_too_large_is_refused(pattern: str) -> None:
    with pytest.raises(regexes.PatternError):
        regexes.compiled(pattern)


def test_a_text_that_would_be_searched_for_long_is_told_apart() -> None:
    assert not regexes.is_too_long("^a+$", "a" * 100_000)
    assert regexes.is_too_long("(a{1,50}){1,15}x", "a" * 100_000)
