"""What a policy and a binding may say."""

from typing import Any

import pytest

from plimsoll.apiserver.model.policies.kinds import binding_errors, policy_errors
from tests.apiserver.admission.policies.objects import a_binding, a_policy


def complaints(**spec: Any) -> list[tuple[str, str]]:
    return [(error.field, error.message) for error in policy_errors(a_policy("p", "true", **spec))]


def fields(**spec: Any) -> list[str]:
    return [field.removeprefix("spec.") for field, _ in complaints(**spec)]


def test_a_good_policy_and_a_good_binding_have_nothing_wrong_with_them() -> None:
    spec = {
        "paramKind": {"apiVersion": "apps/v1", "kind": "Deployment"},
        "matchConditions": [{"name": "a", "expression": "params != null"}],
        "variables": [{"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a"}],
        "auditAnnotations": [{"key": "a", "valueExpression": "string(variables.b)"}],
    }
    assert complaints(**spec) == []
    reference = {"name": "a", "namespace": "b", "parameterNotFoundAction": "Deny"}
    assert list(binding_errors(a_binding("p", "Warn", "Audit", paramRef=reference))) == []


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        pytest.param({"failurePolicy": "Maybe"}, ["failurePolicy"], id="failure-policy"),
        pytest.param({"matchConstraints": None}, ["matchConstraints"], id="about-nothing"),
        pytest.param(
            {"matchConstraints": {}}, ["matchConstraints.resourceRules"], id="about-no-resource"
        ),
        pytest.param({"validations": []}, ["validations", "auditAnnotations"], id="says-nothing"),
        pytest.param(
            {"validations": [{"expression": " "}]}, ["validations[0].expression"], id="empty"
        ),
        pytest.param(
            {"validations": [{"expression": "true", "message": "a\nb", "reason": "NotFound"}]},
            ["validations[0].message", "validations[0].reason"],
            id="message-and-reason",
        ),
        pytest.param(
            {"validations": [{"expression": "true", "messageExpression": "1"}]},
            ["validations[0].messageExpression"],
            id="message-that-is-no-text",
        ),
        pytest.param(
            {"variables": [{"name": "for", "expression": "1"}]}, ["variables[0].name"], id="word"
        ),
        pytest.param(
            {"variables": [{"name": "a", "expression": "variables.a"}]},
            ["variables[0].expression"],
            id="variable-of-itself",
        ),
        pytest.param(
            {"matchConditions": [{"name": "a", "expression": "true"}] * 2},
            ["matchConditions[1].name"],
            id="two-conditions-of-one-name",
        ),
        pytest.param(
            {"matchConditions": [{"name": "a", "expression": "variables.a"}]},
            ["matchConditions[0].expression"],
            id="condition-with-variables",
        ),
        pytest.param(
            {"paramKind": {"apiVersion": "a/b/c"}},
            ["paramKind.apiVersion", "paramKind.kind"],
            id="kind-of-parameters",
        ),
        pytest.param(
            {"auditAnnotations": [{"key": "a b", "valueExpression": "true"}]},
            ["auditAnnotations[0].key", "auditAnnotations[0].valueExpression"],
            id="annotation",
        ),
    ],
)
def test_what_a_policy_may_not_say_is_complained_of(spec: Any, wrong: list[str]) -> None:
    assert fields(**spec) == wrong


def test_what_cannot_be_compiled_is_told_with_its_place() -> None:
    [(field, message)] = complaints(validations=[{"expression": "objekt.a == 1"}])
    assert field == "spec.validations[0].expression"
    assert message == (
        'Invalid value: "objekt.a == 1": compilation failed: '
        "undeclared reference to 'objekt' (in container '')"
    )


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        pytest.param({"policyName": ""}, ["policyName"], id="no-policy"),
        pytest.param({"validationActions": []}, ["validationActions"], id="no-action"),
        pytest.param(
            {"validationActions": ["Deny", "Warn"]}, ["validationActions"], id="deny-and-warn"
        ),
        pytest.param(
            {"validationActions": ["Deny", "Deny", "No"]},
            ["validationActions[1]", "validationActions[2]"],
            id="twice-and-unknown",
        ),
        pytest.param(
            {"paramRef": {}}, ["paramRef", "paramRef.parameterNotFoundAction"], id="no-parameter"
        ),
        pytest.param(
            {"paramRef": {"name": "a", "selector": {}, "parameterNotFoundAction": "No"}},
            ["paramRef.name", "paramRef.selector", "paramRef.parameterNotFoundAction"],
            id="by-name-and-selector",
        ),
        pytest.param(
            {"matchResources": {"matchPolicy": "No"}}, ["matchResources.matchPolicy"], id="match"
        ),
    ],
)
def test_what_a_binding_may_not_say_is_complained_of(spec: Any, wrong: list[str]) -> None:
    found = binding_errors(a_binding("p", **spec))
    assert [error.field.removeprefix("spec.") for error in found] == wrong
