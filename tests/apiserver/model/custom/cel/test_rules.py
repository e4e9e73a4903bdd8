"""Rules at the places of a schema: where they are evaluated, and what they say."""

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.cel.rules import RuleChecks
from plimsoll.apiserver.model.custom.nodes import compiled_schema


def checks(spec: Document) -> RuleChecks:
    return RuleChecks(compiled_schema({"type": "object", "properties": {"spec": spec}}))


def complaints(spec: Document, new: object, old: object = None) -> list[str]:
    before = None if old is None else {"spec": old}
    found = checks(spec).errors({"spec": new}, before)
    return [f"{error.field}: {error.message}" for error in found]


def ruled(schema: Document, *rules: Document | str) -> Document:
    listed = [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]
    return schema | {"x-kubernetes-validations": listed}


NUMBER: Document = {"type": "integer"}


def test_a_rule_without_a_message_shows_itself() -> None:
    assert complaints(ruled(NUMBER, "self > 1"), 1) == [
        "spec: Invalid value: 1: failed rule: self > 1"
    ]
    assert complaints(ruled(NUMBER, "self > 1"), 2) == []


def test_the_value_of_an_object_or_a_list_is_not_shown() -> None:
    schema = ruled(
        {"type": "array", "items": NUMBER}, {"rule": "self.size() > 1", "message": "more"}
    )
    assert complaints(schema, [1]) == ["spec: Invalid value: more"]


def test_reason_path_and_message_are_the_rules_own() -> None:
    rule = {
        "rule": "self.a < self.b",
        "messageExpression": "'a is %d'.format([self.a])",
        "fieldPath": ".a",
        "reason": "FieldValueForbidden",
    }
    schema = ruled({"type": "object", "properties": {"a": NUMBER, "b": NUMBER}}, rule)
    assert complaints(schema, {"a": 2, "b": 1}) == ["spec.a: Forbidden: a is 2"]


def test_a_message_that_cannot_be_made_is_the_plain_one() -> None:
    rule = {"rule": "self > 1", "message": "plain", "messageExpression": "string(self / 0)"}
    assert complaints(ruled(NUMBER, rule), 1) == ["spec: Invalid value: 1: plain"]


def test_transitions_are_judged_only_where_something_was() -> None:
    schema = ruled(NUMBER, {"rule": "self == oldSelf", "message": "fixed"})
    assert complaints(schema, 1) == []
    assert complaints(schema, 2, 1) == ["spec: Invalid value: 2: fixed"]


def test_optional_old_values_are_judged_always() -> None:
    rule = {
        "rule": "oldSelf.hasValue() || self == 1",
        "optionalOldSelf": True,
        "message": "first is 1",
    }
    schema = ruled(NUMBER, rule)
    assert complaints(schema, 2) == ["spec: Invalid value: 2: first is 1"]
    assert complaints(schema, 1) == []
    assert complaints(schema, 2, 1) == []


def test_elements_of_a_map_are_compared_with_those_of_the_same_keys() -> None:
    item = {
        "type": "object",
        "properties": {"k": {"type": "string"}, "v": ruled(NUMBER, "self >= oldSelf")},
    }
    schema = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }
    old = [{"k": "a", "v": 1}, {"k": "b", "v": 5}]
    assert (
        complaints(schema, [{"k": "b", "v": 6}, {"k": "a", "v": 1}, {"k": "c", "v": 0}], old) == []
    )
    assert complaints(schema, [{"k": "b", "v": 4}], old) == [
        "spec[0].v: Invalid value: 4: failed rule: self >= oldSelf"
    ]


def test_a_part_that_stays_as_it_was_is_not_judged_again() -> None:
    schema = {"type": "object", "properties": {"a": ruled(NUMBER, "self > 10"), "b": NUMBER}}
    assert complaints(schema, {"a": 1, "b": 2}, {"a": 1, "b": 1}) == []
    assert complaints(schema, {"a": 2, "b": 1}, {"a": 1, "b": 1}) != []


def test_an_error_names_the_rule() -> None:
    schema = ruled({"type": "object", "properties": {"a": NUMBER}}, "self.a > 1")
    assert complaints(schema, {}) == [
        'spec: Invalid value: "object": no such key: a evaluating rule: self.a > 1'
    ]


def test_formats_and_list_types_change_what_a_rule_sees() -> None:
    properties = {
        "t": {"type": "string", "format": "date-time"},
        "d": {"type": "string", "format": "duration"},
        "n": {"type": "number"},
        "s": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    }
    rule = (
        "self.t < timestamp('2031-01-01T00:00:00Z') && self.d == duration('60s') "
        "&& self.n / 2.0 == 0.5 && self.s == ['b', 'a']"
    )
    schema = ruled({"type": "object", "properties": properties}, rule)
    value = {"t": "2030-01-01T00:00:00Z", "d": "1m", "n": 1, "s": ["a", "b"]}
    assert complaints(schema, value) == []


def test_all_rules_of_a_document_share_one_budget() -> None:
    schema = ruled({"type": "array", "items": NUMBER}, "self.all(x, self.all(y, x >= y || x < y))")
    [said] = complaints(schema, list(range(1000)))
    assert "running out of cost budget" in said
