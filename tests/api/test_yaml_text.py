"""YAML is read as JSON would have it, and no text makes the reader work out of proportion."""

import pytest
import yaml
from hypothesis import given, strategies as st

from plimsoll.api import yaml_text

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
def test_text_is_read_as_the_plain_loader_reads_it(document: object) -> None:
    text = yaml.safe_dump(document)
    assert yaml_text.read(text.encode()) == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(b"", None, id="nothing"),
        pytest.param(b"# only a remark\n", None, id="a-comment"),
        pytest.param(b"day: 2024-01-01", {"day": "2024-01-01"}, id="a-date-is-text"),
        pytest.param(b"1: a\ntrue: b", {"1": "a", "true": "b"}, id="keys-are-text"),
        pytest.param(b"a: !!str 1", {"a": "1"}, id="a-tag"),
        pytest.param(b"a: !!binary aGk=", {"a": "aGk="}, id="bytes"),
        pytest.param(b"<<: {a: 1, b: 2}\na: 3", {"a": 3, "b": 2}, id="a-merge-key"),
        pytest.param(b"---\na: {b: [1, 2.5, ~]}\n...\n", {"a": {"b": [1, 2.5, None]}}, id="marks"),
    ],
)
def test_values_have_the_types_of_json(text: bytes, value: object) -> None:
    assert yaml_text.read(text) == value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(b"[" * 100_000, "nested too deeply", id="nested-lists"),
        pytest.param(b"{a: " * 100_000, "nested too deeply", id="nested-mappings"),
        pytest.param(b"- " * 100_000, "nested too deeply", id="nested-dashes"),
        pytest.param(b"[" + b"a," * 100_001 + b"]", "more than 100000 values", id="many-values"),
        pytest.param(b"%YAML 1.1\n" * 11 + b"---\na", "directives", id="many-directives"),
        pytest.param(b"a: &x 1\nb: *x", "aliases are not taken", id="an-alias"),
        pytest.param(b"a: 1\n---\nb: 2", "single document", id="two-documents"),
        pytest.param(b"a: !!python/object:os.system x", "tag", id="an-unknown-tag"),
        pytest.param(b"a: !!set {b}", "tag", id="an-unknown-collection"),
        pytest.param(b"? [a]\n: b", "cannot be a key", id="a-list-as-key"),
        pytest.param(b"a: [", "expected node content", id="an-end-too-early"),
        pytest.param(b"a: \xff", "unacceptable|invalid", id="no-text"),
    ],
)
def test_what_is_refused(text: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        yaml_text.read(text)
