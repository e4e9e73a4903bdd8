"""What a webhook's configuration may say, and which policies are refused."""

import base64

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.access.admission_configuration import (
    GROUP,
    NO_CEL,
    RULES,
    validate_webhooks,
)

RULE = {
    "operations": ["CREATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "scope": "*",
}
GOOD: Document = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://127.0.0.1:8443/admit"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "timeoutSeconds": 10,
    "rules": [RULE],
}


def fields(*webhooks: Document) -> list[str]:
    return [error.field for error in validate_webhooks({"webhooks": list(webhooks)})]


def test_a_good_webhook_has_nothing_wrong_with_it() -> None:
    assert fields(GOOD) == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"name": ""}, "name", id="no-name"),
        pytest.param({"name": "a.b"}, "name", id="no-domain"),
        pytest.param({"sideEffects": "Some"}, "sideEffects", id="side-effects"),
        pytest.param({"failurePolicy": "Maybe"}, "failurePolicy", id="failure-policy"),
        pytest.param({"timeoutSeconds": 0}, "timeoutSeconds", id="no-time"),
        pytest.param({"clientConfig": {}}, "clientConfig", id="nowhere"),
        pytest.param(
            {"clientConfig": {"url": "https://user:pw@a/"}}, "clientConfig.url", id="a-password"
        ),
        pytest.param({"clientConfig": {"url": "https://a/?b=c"}}, "clientConfig.url", id="a-query"),
        pytest.param({"clientConfig": {"url": "https://["}}, "clientConfig.url", id="no-url"),
        pytest.param(
            {
                "clientConfig": GOOD["clientConfig"]
                | {"caBundle": base64.b64encode(b"\xff").decode()}
            },
            "clientConfig.caBundle",
            id="no-certificate",
        ),
        pytest.param(
            {"clientConfig": {"service": {"name": "a"}}},
            "clientConfig.service.namespace",
            id="half-a-service",
        ),
        pytest.param({"rules": [RULE | {"scope": "All"}]}, "rules[0].scope", id="scope"),
        pytest.param({"rules": [RULE | {"resources": []}]}, "rules[0].resources", id="nothing"),
        pytest.param(
            {"rules": [RULE | {"operations": ["READ"]}]}, "rules[0].operations[0]", id="operation"
        ),
        pytest.param(
            {"matchConditions": [{"name": "a"}]}, "matchConditions[0].expression", id="condition"
        ),
    ],
)
def test_what_makes_no_sense_is_complained_of(change: Document, field: str) -> None:
    assert fields(GOOD | change) == [f"webhooks[0].{field}"]


def test_two_webhooks_cannot_have_one_name() -> None:
    assert fields(GOOD, GOOD) == ["webhooks[1].name"]


@pytest.mark.parametrize("kind", ["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"])
def test_policies_that_change_objects_are_refused_by_name(kind: str) -> None:
    [error] = RULES[GROUP, kind].validate({"kind": kind})

    assert kind in error.detail
    assert NO_CEL in error.detail
