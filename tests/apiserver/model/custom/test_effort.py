from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.effort import Effort
from plimsoll.apiserver.model.custom.nodes import compiled_schema

SMALL = 400
LIST: Document = {"type": "array", "items": {"type": "integer"}}


def steps(schema: Document, size: int = SMALL) -> int:
    return Effort(compiled_schema(schema)).steps(size)


def ruled(schema: Document, rule: str) -> Document:
    return schema | {"x-kubernetes-validations": [{"rule": rule}]}


def test_a_plain_schema_takes_as_many_steps_as_there_are_values() -> None:
    assert steps(LIST) == 1 + SMALL // 8


def test_every_loop_multiplies_the_steps() -> None:
    once = steps(ruled(LIST, "self.all(x, x > 0)"))
    twice = steps(ruled(LIST, "self.all(x, self.all(y, x > y))"))
    assert once < 1000
    assert twice > 10 * once


def test_a_rule_below_a_list_runs_for_every_element() -> None:
    inside = {"type": "array", "items": ruled({"type": "integer"}, "self > 0")}
    assert steps(inside) > 3 * steps(LIST)


def test_alternatives_and_patterns_count_for_every_value() -> None:
    choices = {"type": "string", "anyOf": [{"pattern": str(n)} for n in range(100)]}
    assert steps({"type": "array", "items": choices}) > 100 * steps(LIST)
    large = {"type": "string", "pattern": "(a{1,30}){1,30}"}
    assert steps(large) > 5 * steps({"type": "string", "pattern": "a"})
