"""What answers say in headers stays as short as clients can read."""

import pytest

from plimsoll.apiserver.http.answers import CUT_LENGTH, WARNINGS_LENGTH, warning_headers


def test_a_warning_is_quoted_and_has_no_line_breaks() -> None:
    assert warning_headers(['a "b" \\\n\x00é']) == ['299 - "a \\"b\\" \\\\  é"']


def test_warnings_that_are_short_together_are_told_whole() -> None:
    texts = ["a" * (WARNINGS_LENGTH - 1), "b"]
    assert warning_headers(texts) == [f'299 - "{text}"' for text in texts]


@pytest.mark.parametrize(
    "texts", [["a" * 2_000_000], ["ab"] * 50_000, ["a" * 300] * 100], ids=["long", "many", "both"]
)
def test_warnings_never_fill_a_client(texts: list[str]) -> None:
    told = warning_headers(texts)
    assert 0 < sum(map(len, told)) <= 2 * WARNINGS_LENGTH
    assert told[0] == f'299 - "{texts[0][:CUT_LENGTH]}"'
