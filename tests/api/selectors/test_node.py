import pytest

from plimsoll.api.selectors.node import (
    NodeRequirementSpec,
    NodeSelector,
    NodeSelectorSpec,
    NodeTermSpec,
    PreferredNodes,
    PreferredTermSpec,
    RequiredNodes,
)

IN_ZONE_A = NodeRequirementSpec(key="zone", operator="In", values=("a",))
NAMED_ONE = NodeRequirementSpec(key="metadata.name", operator="In", values=("one",))
SENSELESS = NodeRequirementSpec(key="zone", operator="In", values=("-",))


def spec(*terms: NodeTermSpec) -> NodeSelectorSpec:
    return NodeSelectorSpec(node_selector_terms=terms)


def test_any_term_is_enough_and_all_of_its_requirements_must_hold() -> None:
    both = NodeTermSpec(match_expressions=(IN_ZONE_A,), match_fields=(NAMED_ONE,))
    large = NodeTermSpec(
        match_expressions=(NodeRequirementSpec(key="size", operator="Gt", values=("5",)),)
    )
    selector = NodeSelector.of(spec(both, large))
    assert selector.matches({"zone": "a"}, "one")
    assert not selector.matches({"zone": "a"}, "two")
    assert selector.matches({"size": "6"}, "two")


def test_no_term_and_empty_terms_select_no_node() -> None:
    assert not NodeSelector.of(spec()).matches({}, "one")
    assert not NodeSelector.of(spec(NodeTermSpec())).matches({}, "one")


def test_names_are_not_asked_for_where_only_labels_are_known() -> None:
    assert NodeSelector.of(spec(NodeTermSpec(match_fields=(NAMED_ONE,)))).matches({})


def test_a_senseless_term_spoils_nothing_but_itself() -> None:
    senseless, sensible = (
        NodeTermSpec(match_expressions=(SENSELESS,)),
        NodeTermSpec(match_expressions=(IN_ZONE_A,)),
    )
    selector = NodeSelector.of(spec(senseless, sensible))
    assert selector.matches({"zone": "a"}, "one")
    assert selector.complaint.startswith("nodeSelectorTerms[0].matchExpressions[0].values[0][zone]")


def test_complaints_about_several_requirements_are_listed() -> None:
    term = NodeTermSpec(
        match_expressions=(NodeRequirementSpec(key="zone", operator="Near"),),
        match_fields=(
            NodeRequirementSpec(key="metadata.name", operator="Gt", values=("a",)),
            NodeRequirementSpec(key="metadata.name", operator="In"),
        ),
    )
    assert NodeSelector.of(spec(term)).complaint == (
        '[nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Near": '
        'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", '
        'nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Gt": '
        'supported values: "In", "NotIn", '
        "nodeSelectorTerms[0].matchFields[1].values: Invalid value: null: must have one element]"
    )


def test_a_pod_needs_the_labels_it_names_and_its_affinity() -> None:
    required = RequiredNodes.of({"disk": "ssd"}, spec(NodeTermSpec(match_fields=(NAMED_ONE,))))
    assert required.matches({"disk": "ssd"}, "one")
    assert not required.matches({"disk": "ssd"}, "two")
    assert not required.matches({}, "one")
    assert RequiredNodes.of({}, None).matches({}, "any")


def test_a_senseless_affinity_is_complained_about_only_where_it_decides() -> None:
    required = RequiredNodes.of({"disk": "ssd"}, spec(NodeTermSpec(match_expressions=(SENSELESS,))))
    assert required.complaint({"disk": "ssd"}, "one")
    assert not required.complaint({}, "one")


def test_preferences_add_up_their_weights() -> None:
    preferred = PreferredNodes.of(
        (
            PreferredTermSpec(weight=5, preference=NodeTermSpec(match_expressions=(IN_ZONE_A,))),
            PreferredTermSpec(weight=2, preference=NodeTermSpec(match_fields=(NAMED_ONE,))),
            PreferredTermSpec(weight=9),
        )
    )
    assert preferred.score({"zone": "a"}, "one") == 7
    assert preferred.score({"zone": "b"}, "one") == 2


def test_a_senseless_preference_is_an_error() -> None:
    term = PreferredTermSpec(weight=1, preference=NodeTermSpec(match_expressions=(SENSELESS,)))
    with pytest.raises(ValueError, match=r"^\[0\]\.matchExpressions\[0\]"):
        PreferredNodes.of((term,))
