"""YAML is read as JSON would have it, and no text makes the reader work out of proportion."""

import pytest
import yaml
from hypothesis import given, strategies as st

from plimsoll.apiserver.model import yaml_text

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["null", "Yes", "1", "1.5", "2024-01-01", "~", "", "x" * 2000, "a: b", "- a"])
)
documents = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8) | st.just("k" * 2000), inner)
    ),
    max_leaves=20,
)


@given(documents)
def test_what_is_written_is_read_back(document: object) -> None:
    assert yaml_text.read(yaml_text.write(document)) == document


@given(documents)
def test_text_with_quotes_and_tags_is_read_as_other_loaders_read_it(document: object) -> None:
    text = yaml.safe_dump(document, default_style='"')
    assert yaml_text.read(text.encode()) == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(b"", None, id="nothing"),
        pytest.param(b"# only a remark\n", None, id="a-comment"),
        pytest.param(b"day: 2024-01-01", {"day": "2024-01-01"}, id="a-date-is-text"),
        pytest.param(b"1: a\ntrue: b", {"1": "a", "true": "b"}, id="keys-are-text"),
        pytest.param(b"a: !!str 1", {"a": "1"}, id="a-tag"),
        pytest.param(b"a: [y, N, on, yES]", {"a": [True, False, True, "yES"]}, id="words"),
        pytest.param(b"[012, 0o12, 0x1F, 0b11, 1_000]", [10, 10, 31, 3, 1000], id="integers"),
        pytest.param(b"[1e3, 09, +.5, 1.]", [1000, 9, 0.5, 1], id="floats"),
        pytest.param(b"[12:30, 0x, 1e400, =, -]", ["12:30", "0x", "1e400", "=", "-"], id="text"),
        pytest.param(b"a: <<", {"a": "<<"}, id="a-merge-key-as-a-value"),
        pytest.param(b"a: 1\n---\nb: 2", {"a": 1}, id="the-first-of-two-documents"),
        pytest.param(b"a: 1\n---\n[", {"a": 1}, id="a-second-document-that-cannot-be-read"),
        pytest.param(b"---\n---\na: 1", None, id="a-first-document-that-is-empty"),
        pytest.param(b"a: !!binary aGk=", {"a": "aGk="}, id="bytes"),
        pytest.param(b"<<: {a: 1, b: 2}\na: 3", {"a": 3, "b": 2}, id="a-merge-key"),
        pytest.param(b"---\na: {b: [1, 2.5, ~]}\n...\n", {"a": {"b": [1, 2.5, None]}}, id="marks"),
    ],
)
def test_values_have_the_types_of_json(text: bytes, value: object) -> None:
    assert yaml_text.read(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(b"a:\tb", "b", id="behind-a-colon"),
        pytest.param(b"a\t: b", "b", id="before-a-colon"),
        pytest.param(b"a:\t\n  b", "b", id="at-the-end-of-a-line"),
        pytest.param(b"a: b\t# c", "b", id="before-a-comment"),
        pytest.param(b"a: b\tc", "b\tc", id="within-text"),
        pytest.param(b"a: b\n \tc", "b c", id="before-the-next-line-of-a-text"),
        pytest.param(b'a: "b\n\tc"', "b c", id="before-the-next-line-within-quotes"),
        pytest.param(b"a: {\n\tb:\tc\t}", {"b": "c"}, id="within-braces"),
        pytest.param(b"a: |\t\n  b\n  \tc\n", "b\n\tc\n", id="within-a-block"),
        pytest.param(b'{\n\t"a":\t"b"\n}', "b", id="within-json"),
    ],
)
def test_tabs_separate_words_as_in_a_real_server(text: bytes, value: object) -> None:
    assert yaml_text.read(text) == {"a": value}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"a:\n\tb: c", id="of-a-mapping"),
        pytest.param(b"a:\n  b: c\n \td: e", id="behind-spaces"),
        pytest.param(b"a:\n-\tb", id="behind-a-dash"),
        pytest.param(b"a:\n\t\n  b: c", id="of-an-empty-line"),
        pytest.param(b"\t# c\na: b", id="of-a-comment"),
        pytest.param(b"a: |\n\tb", id="of-a-block"),
        pytest.param(b"a: b\n\tc", id="of-the-next-line-of-a-text"),
    ],
)
def test_tabs_are_refused_as_indentation_as_in_a_real_server(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"tab|token|expected|while scanning"):
        yaml_text.read(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(b"[" * 100_000, "nested too deeply", id="nested-lists"),
        pytest.param(b"{a: " * 100_000, "nested too deeply", id="nested-mappings"),
        pytest.param(b"- " * 100_000, "nested too deeply", id="nested-dashes"),
        pytest.param(b"[" + b"a," * 100_001 + b"]", "more than 100000 values", id="many-values"),
        pytest.param(b"%YAML 1.1\n" * 11 + b"---\na", "directives", id="many-directives"),
        pytest.param(b"a: &x 1\nb: *x", "aliases are not taken", id="an-alias"),
        pytest.param(b"a: !!python/object:os.system x", "tag", id="an-unknown-tag"),
        pytest.param(b"a: !!set {b}", "tag", id="an-unknown-collection"),
        pytest.param(b"? [a]\n: b", "cannot be a key", id="a-list-as-key"),
        pytest.param(b"a: -.inf", "no number", id="a-number-without-end"),
        pytest.param(b"a: [", "expected node content", id="an-end-too-early"),
        pytest.param(b"a: \xff", "unacceptable|invalid", id="no-text"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused(text: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        yaml_text.read(text)


def test_many_merges_take_what_came_first() -> None:
    first = ", ".join(f"k{number}: 1" for number in range(10_000))
    text = f"<<: {{{first}}}\n" + "<<: {k1: 2, other: 3}\n" * 10_000

    assert yaml_text.read(text.encode()) == {f"k{n}": 1 for n in range(10_000)} | {"other": 3}


def test_of_a_key_that_is_there_twice_the_last_counts_and_it_is_told() -> None:
    repeated: list[str] = []
    text = b"a: 1\nb: {c: 1, c: 2}\na: 3\n<<: {d: 1}\nd: 2\n"

    assert yaml_text.read(text, repeated) == {"a": 3, "b": {"c": 2}, "d": 2}
    assert repeated == [
        'yaml: line 2: key "c" already set in map',
        'yaml: line 3: key "a" already set in map',
    ]


def test_not_more_repeated_keys_are_told_than_can_be_read() -> None:
    repeated: list[str] = []
    yaml_text.read(b"a: 1\n" * 5000, repeated)
    assert len(repeated) == 100
