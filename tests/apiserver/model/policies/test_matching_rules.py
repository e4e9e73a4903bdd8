"""What is wrong with the part that says which requests a policy is about."""

from typing import Any

import pytest

from plimsoll.apiserver.model.policies.matching_rules import match_errors
from tests.apiserver.admission.policies.objects import a_rule


@pytest.mark.parametrize(
    ("rule", "field", "message"),
    [
        pytest.param(a_rule(operations=[]), "operations", "Required value", id="no-operation"),
        pytest.param(
            a_rule(operations=["READ"]), "operations[0]", "Unsupported value", id="operation"
        ),
        pytest.param(
            a_rule(apiGroups=["*", "apps"]),
            "apiGroups",
            "other API groups",
            id="all-groups-and-one",
        ),
        pytest.param(a_rule(apiVersions=[""]), "apiVersions[0]", "Required", id="empty-version"),
        pytest.param(a_rule("pods", ""), "resources[1]", "Required value", id="empty-resource"),
        pytest.param(
            a_rule("pods/*", "pods/status"),
            "resources[1]",
            "if 'pods/*' is present, must not specify pods/status",
            id="all-subresources-and-one",
        ),
        pytest.param(a_rule("*/*", "pods"), "resources", "if '*/*' is present", id="all-and-one"),
        pytest.param(
            a_rule("*", "pods"), "resources", "without subresources", id="all-resources-and-one"
        ),
        pytest.param(a_rule(scope="Some"), "scope", "Unsupported value", id="scope"),
        pytest.param(
            a_rule(resourceNames=["a", "a"]), "resourceNames[1]", "Duplicate", id="name-twice"
        ),
        pytest.param(a_rule(resourceNames=["a/b"]), "resourceNames[0]", "'/'", id="no-name"),
    ],
)
def test_a_rule_that_makes_no_sense_is_complained_of(rule: Any, field: str, message: str) -> None:
    [error] = match_errors({"excludeResourceRules": [rule]}, "spec.match")

    assert error.field == f"spec.match.excludeResourceRules[0].{field}"
    assert message in error.message


def test_selectors_and_the_match_policy_are_looked_at() -> None:
    match = {"matchPolicy": "Nearly", "objectSelector": {"matchLabels": {"a b": "c"}}}
    assert [error.field for error in match_errors(match, "m")] == [
        "m.matchPolicy",
        "m.objectSelector.matchLabels",
    ]


def test_a_good_rule_has_nothing_wrong_with_it() -> None:
    match = {"resourceRules": [a_rule("pods", "pods/status", "*/scale", resourceNames=["a"])]}
    assert list(match_errors(match, "m")) == []
