"""Policies that are ready to run, and their variables."""

from typing import Any

import pytest

from plimsoll.apiserver.model.custom.cel.values import BudgetError, CelError, Meter
from plimsoll.apiserver.model.policies.compiled import (
    PolicyVariables,
    VariableMap,
    compiled_rules,
)


def variables(meter: Meter, *pairs: tuple[str, str]) -> dict[str, Any]:
    spec = {"variables": [{"name": name, "expression": text} for name, text in pairs]}
    names: dict[str, Any] = {"object": {"a": 2}}
    found = PolicyVariables(compiled_rules(spec).variables, names, meter)
    names["variables"] = VariableMap(found)
    return names


def test_a_variable_is_found_out_once_and_only_when_it_is_asked_for() -> None:
    meter = Meter(100)
    names = variables(meter, ("twice", "object.a * 2"), ("more", "variables.twice + 1"))
    assert meter.left == 100
    assert names["variables"]["more"] == 5
    left = meter.left
    assert names["variables"]["more"] == 5
    assert meter.left == left < 100


def test_what_is_wrong_with_a_variable_is_told_with_its_name() -> None:
    names = variables(Meter(100), ("none", "object.b"), ("more", "variables.none + 1"))
    with pytest.raises(CelError) as failed:
        names["variables"]["more"]
    assert str(failed.value) == (
        'composited variable "more" fails to evaluate: '
        'composited variable "none" fails to evaluate: no such key: b'
    )


def test_a_variable_takes_from_the_same_budget() -> None:
    names = variables(Meter(2), ("long", "[1, 2, 3, 4].map(x, x * 2)"))
    with pytest.raises(BudgetError):
        names["variables"]["long"]


def test_an_expression_that_cannot_be_compiled_fails_when_it_is_run() -> None:
    rules = compiled_rules({"validations": [{"expression": "objekt == 1"}]})
    [(_, rule, message)] = rules.validations
    assert message is None
    with pytest.raises(CelError, match="compilation error: compilation failed: undeclared"):
        rule.value({}, Meter(10))


def test_a_failing_expression_is_told_with_its_text() -> None:
    rules = compiled_rules({"matchConditions": [{"name": "a", "expression": "object.b == 1"}]})
    with pytest.raises(CelError) as failed:
        rules.conditions[0].value({"object": {}}, Meter(10))
    assert str(failed.value) == "expression 'object.b == 1' resulted in error: no such key: b"
