"""The number of values in a JSON text is bounded; the length of its strings is not."""

import pytest

from plimsoll.apiserver.model.json_text import MAX_VALUES, check_size


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"[" + b"1," * (MAX_VALUES - 2) + b"1]", id="as-many-as-allowed"),
        pytest.param(b'{"a":"' + b",[{" * MAX_VALUES + b'"}', id="marks-in-a-string"),
        pytest.param(b'{"a":"' + b'\\",' * MAX_VALUES + b'"}', id="quotes-in-a-string"),
    ],
)
def test_text_within_the_bound_is_taken(text: bytes) -> None:
    check_size(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"[" + b"1," * MAX_VALUES + b"1]", id="numbers"),
        pytest.param(b"[" * (MAX_VALUES + 1), id="lists"),
        pytest.param(b"{" * (MAX_VALUES + 1), id="objects"),
        pytest.param(b'["\\\\",' + b'"",' * MAX_VALUES + b'""]', id="strings"),
    ],
)
def test_text_beyond_the_bound_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="more than 100000 values"):
        check_size(text)
