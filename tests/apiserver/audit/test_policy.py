"""The first rule that fits a request says how much is written of it."""

import pytest

from plimsoll.apiserver.audit.policy import AuditLevel, parse_policy
from plimsoll.apiserver.audit.subject import AuditSubject

POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    users: [noise]
  - level: None
    nonResourceURLs: [/healthz*, /version]
  - level: RequestResponse
    verbs: [create, delete]
    resources:
      - {group: "", resources: [pods, pods/status]}
      - {group: apps, resources: ["*/scale"], resourceNames: [web]}
  - level: Request
    namespaces: [shop]
    userGroups: [people]
  - level: Metadata
    resources: [{group: ""}]
"""


def a_subject(**fields: object) -> AuditSubject:
    given = {
        "user": "a",
        "groups": (),
        "uid": "",
        "verb": "get",
        "path": "/api",
        "uri": "/api",
        "agent": "",
        "is_resource": True,
        "resource": "pods",
    }
    return AuditSubject(**(given | fields))  # type: ignore[arg-type]  # as many as a test needs


@pytest.mark.parametrize(
    ("subject", "level"),
    [
        pytest.param(a_subject(user="noise"), None, id="a-user-of-no-interest"),
        pytest.param(
            a_subject(is_resource=False, resource="", path="/healthz/ping"), None, id="a-path"
        ),
        pytest.param(
            a_subject(is_resource=False, resource="", path="/metrics"), None, id="no-rule-fits"
        ),
        pytest.param(a_subject(verb="create"), "RequestResponse", id="a-verb-and-a-resource"),
        pytest.param(
            a_subject(verb="create", subresource="status"), "RequestResponse", id="a-subresource"
        ),
        pytest.param(a_subject(verb="create", subresource="log"), "Metadata", id="another-one"),
        pytest.param(
            a_subject(
                verb="delete", group="apps", resource="things", subresource="scale", name="web"
            ),
            "RequestResponse",
            id="a-name",
        ),
        pytest.param(
            a_subject(namespace="shop", groups=("people",)), "Request", id="a-namespace-and-a-group"
        ),
        pytest.param(a_subject(namespace="shop"), "Metadata", id="the-last-rule"),
        pytest.param(a_subject(group="apps"), None, id="another-group"),
    ],
)
def test_the_first_rule_that_fits_decides(subject: AuditSubject, level: str | None) -> None:
    rule = parse_policy(POLICY).rule_for(subject)

    assert (rule.level if rule else None) == (AuditLevel(level) if level else None)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("[", "cannot be read", id="not-yaml"),
        pytest.param("a: b", "cannot be read", id="something-else"),
        pytest.param(POLICY.replace("verbs", "verb"), "unknown field `verb`", id="a-typo"),
        pytest.param(POLICY.replace("audit.k8s.io/v1", "v2"), "kind Policy", id="a-version"),
        pytest.param(POLICY.replace("Metadata", "Everything"), "Everything", id="a-level"),
        pytest.param(POLICY.partition("rules:")[0] + "rules: []", "no rules", id="no-rules"),
    ],
)
def test_a_policy_that_is_not_understood_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_policy(text)
