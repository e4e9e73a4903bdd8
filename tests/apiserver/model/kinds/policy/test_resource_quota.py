from collections import Counter
from datetime import UTC, datetime

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.policy.resource_quota import RULES
from tests.apiserver.model.kinds.complaints import complaints

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SELECTOR = "spec.scopeSelector.matchExpressions"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"hard": {"pods": "3", "requests.storage": "1Gi"}}, [], id="usual"),
        pytest.param({"hard": {"pods": "-1"}}, [("Invalid", "spec.hard[pods]")], id="negative"),
        pytest.param({"hard": {"nope": "1"}}, [("Invalid", "spec.hard[nope]")] * 2, id="name"),
        pytest.param({"scopes": ["Nope"]}, [("Invalid", "spec.scopes")], id="scope"),
        pytest.param(
            {"scopes": ["BestEffort", "NotBestEffort"]}, [("Invalid", "spec.scopes")], id="contrary"
        ),
        pytest.param(
            {"scopes": ["BestEffort"], "hard": {"cpu": "1"}},
            [("Invalid", "spec.scopes")],
            id="scope-without-such-resource",
        ),
        pytest.param(
            {
                "hard": {"requests.storage": "1Gi"},
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["a"]}
                    ]
                },
            },
            [],
            id="attributes-class",
        ),
        pytest.param(
            {"scopeSelector": {"matchExpressions": [{"scopeName": "BestEffort"}]}},
            [("Invalid", f"{SELECTOR}.operator")] * 2,
            id="no-operator",
        ),
    ],
)
def test_quotas_name_what_can_be_counted(spec: Document, expected: list[tuple[str, str]]) -> None:
    assert complaints(RULES.validate({"metadata": {}, "spec": spec})) == Counter(expected)


def test_scopes_are_chosen_once() -> None:
    old: Document = {"metadata": {}, "spec": {"scopes": ["BestEffort"]}}
    new: Document = {"metadata": {}, "spec": {}}

    assert complaints(RULES.validate_update(new, old)) == Counter([("Invalid", "spec.scopes")])


def test_usage_is_not_for_clients_to_create() -> None:
    quota: Document = {"metadata": {}, "spec": {}, "status": {"used": {"pods": "1"}}}

    RULES.prepare_create(quota, NOW)

    assert quota["status"] == {}


def test_requests_beyond_the_limits_are_warned_of_when_created() -> None:
    quota: Document = {"metadata": {}, "spec": {"hard": {"cpu": "2", "limits.cpu": "1"}}}

    assert len(RULES.warnings(quota, None)) == 1
    assert RULES.warnings(quota, quota) == []
