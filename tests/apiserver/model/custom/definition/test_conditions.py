from plimsoll.apiserver.model.custom.definition import conditions
from tests.apiserver.model.custom.definitions import a_definition, established

NOW, LATER = "2030-01-01T00:00:00Z", "2030-01-01T00:01:00Z"


def test_free_names_are_accepted_and_the_definition_is_established() -> None:
    definition = established(a_definition({"type": "string"}))
    assert definition["status"]["acceptedNames"]["plural"] == "widgets"
    assert conditions.is_settled(definition)
    assert conditions.is_true(definition, conditions.ESTABLISHED)


def test_a_name_of_another_definition_of_the_group_is_not_accepted() -> None:
    owner = established(a_definition({"type": "string"}))
    other = a_definition({"type": "string"})
    other["spec"]["names"] = {"plural": "wheels", "kind": "Widget", "listKind": "WheelList"}
    conditions.settle_names(other, [owner], NOW)
    refused = conditions.find_condition(other, conditions.NAMES_ACCEPTED)
    assert refused is not None
    assert (refused["reason"], refused["message"]) == ("KindConflict", '"Widget" is already in use')
    assert not conditions.is_true(other, conditions.ESTABLISHED)
    assert "kind" not in other["status"]["acceptedNames"]


def test_an_established_definition_stays_so_when_it_asks_for_a_name_in_use() -> None:
    owner = established(a_definition({"type": "string"}))
    other = a_definition({"type": "string"})
    other["spec"]["names"] = {"plural": "wheels", "kind": "Wheel", "listKind": "WheelList"}
    conditions.settle_names(other, [owner], NOW)
    other["spec"]["names"]["shortNames"] = ["widgets"]
    conditions.settle_names(other, [owner], LATER)
    assert not conditions.is_true(other, conditions.NAMES_ACCEPTED)
    assert conditions.is_true(other, conditions.ESTABLISHED)


def test_the_time_of_a_condition_changes_with_its_status() -> None:
    definition = established(a_definition({"type": "string"}))
    before = conditions.find_condition(definition, conditions.ESTABLISHED)
    conditions.set_condition(
        definition, conditions.condition(conditions.ESTABLISHED, "True", "Other", "said"), LATER
    )
    after = conditions.find_condition(definition, conditions.ESTABLISHED)
    assert before is not None
    assert after is not None
    assert after["lastTransitionTime"] == before["lastTransitionTime"]
    assert after["reason"] == "Other"


def test_a_deletion_is_marked_with_the_finalizer_and_a_condition() -> None:
    definition = established(a_definition({"type": "string"}))
    conditions.mark_terminating(definition, LATER)
    assert definition["metadata"]["finalizers"] == [conditions.CLEANUP]
    assert conditions.is_true(definition, conditions.TERMINATING)
