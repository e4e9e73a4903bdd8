import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import ErrorType
from plimsoll.apiserver.model.kinds.selectors import (
    deprecated_key_warnings,
    label_selector_errors,
    node_selector_errors,
    topology_selector_terms_errors,
)


@pytest.mark.parametrize(
    ("requirement", "complaints"),
    [
        pytest.param({"key": "a", "operator": "In", "values": ["b"]}, [], id="fine"),
        pytest.param(
            {"key": "a", "operator": "In"}, [(ErrorType.REQUIRED, "values")], id="in-nothing"
        ),
        pytest.param(
            {"key": "a", "operator": "Exists", "values": ["b"]},
            [(ErrorType.FORBIDDEN, "values")],
            id="exists-with-values",
        ),
        pytest.param(
            {"key": "a", "operator": "Near"}, [(ErrorType.INVALID, "operator")], id="no-operator"
        ),
        pytest.param(
            {"key": "a b", "operator": "Exists"}, [(ErrorType.INVALID, "key")], id="odd-key"
        ),
        pytest.param(
            {"key": "a", "operator": "In", "values": ["b", "c d"]},
            [(ErrorType.INVALID, "values[1]")],
            id="odd-value",
        ),
    ],
)
def test_a_requirement_on_labels_is_checked_part_by_part(
    requirement: Document, complaints: list[tuple[ErrorType, str]]
) -> None:
    found = label_selector_errors({"matchExpressions": [requirement]}, "s")

    assert [(error.type, error.field) for error in found] == [
        (kind, f"s.matchExpressions[0].{part}") for kind, part in complaints
    ]


def test_complaints_about_match_labels_name_the_whole_map() -> None:
    found = list(label_selector_errors({"matchLabels": {"a b": "c d"}}, "s"))

    assert [error.field for error in found] == ["s.matchLabels", "s.matchLabels"]


def test_odd_values_that_are_stored_already_are_tolerated() -> None:
    odd = {"key": "a", "operator": "In", "values": ["c d"]}

    assert not list(label_selector_errors({"matchExpressions": [odd]}, "s", any_value=True))


def test_a_node_selector_needs_a_term() -> None:
    found = list(node_selector_errors({}, "n"))

    assert [(e.type, e.field) for e in found] == [(ErrorType.REQUIRED, "n.nodeSelectorTerms")]


@pytest.mark.parametrize(
    ("term", "field"),
    [
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1", "2"]}]},
            "matchExpressions[0].values",
            id="greater-than-two-numbers",
        ),
        pytest.param(
            {"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["x"]}]},
            "matchFields[0].key",
            id="no-such-field",
        ),
        pytest.param(
            {"matchFields": [{"key": "metadata.name", "operator": "Exists"}]},
            "matchFields[0].operator",
            id="fields-know-no-exists",
        ),
        pytest.param(
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]},
            "matchFields[0].values",
            id="two-names",
        ),
        pytest.param(
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["A_"]}]},
            "matchFields[0].values[0]",
            id="no-node-is-called-that",
        ),
    ],
)
def test_node_selector_terms_know_numbers_and_node_names(term: Document, field: str) -> None:
    found = list(node_selector_errors({"nodeSelectorTerms": [term]}, "n"))

    assert [error.field for error in found] == [f"n.nodeSelectorTerms[0].{field}"]


def test_allowed_topologies_may_not_repeat_themselves() -> None:
    zone = {"key": "zone", "values": ["a", "b"]}
    turned = {"key": "zone", "values": ["b", "a"]}
    terms = [{"matchLabelExpressions": [zone]}, {"matchLabelExpressions": [turned]}]

    found = list(topology_selector_terms_errors(terms, "t"))

    assert [(e.type, e.field) for e in found] == [
        (ErrorType.DUPLICATE, "t[1].matchLabelExpressions")
    ]


def test_an_empty_topology_term_is_refused_as_a_repetition() -> None:
    found = list(topology_selector_terms_errors([{}], "t"))

    assert [e.type for e in found] == [ErrorType.DUPLICATE]


def test_a_topology_key_is_given_once_with_distinct_values() -> None:
    expressions = [{"key": "zone", "values": ["a", "a"]}, {"key": "zone", "values": []}]

    found = list(topology_selector_terms_errors([{"matchLabelExpressions": expressions}], "t"))

    assert [(e.type, e.field.partition("[0].")[2]) for e in found] == [
        (ErrorType.DUPLICATE, "matchLabelExpressions[0].values[1]"),
        (ErrorType.REQUIRED, "matchLabelExpressions[1].values"),
        (ErrorType.DUPLICATE, "matchLabelExpressions[1].key"),
    ]


def test_node_labels_that_went_out_of_use_are_pointed_out() -> None:
    expressions = [{"key": "zone"}, {"key": "beta.kubernetes.io/os"}]

    (warning,) = deprecated_key_warnings(expressions, "e")

    assert warning.startswith("e[1].key: beta.kubernetes.io/os is deprecated")
