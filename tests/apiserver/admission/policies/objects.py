"""Policies and bindings to test with."""

from typing import Any

from plimsoll.api.registry import Document

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{GROUP}/validatingadmissionpolicies"
BINDINGS = f"{GROUP}/validatingadmissionpolicybindings"


def a_rule(*resources: str, group: str = "", **more: Any) -> Document:
    rule: Document = {
        "operations": ["*"],
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "resources": list(resources) or ["configmaps"],
    }
    return rule | more


def a_policy(name: str, *expressions: str, rule: Document | None = None, **spec: Any) -> Document:
    """One about config maps, if no rule says otherwise."""
    return {
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule or a_rule()]},
            "validations": [{"expression": text} for text in expressions],
        }
        | spec,
    }


def a_binding(name: str, *actions: str, **spec: Any) -> Document:
    """Of the policy of the same name."""
    wanted = {"policyName": name, "validationActions": list(actions) or ["Deny"]}
    return {
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": f"{name}-binding"},
        "spec": wanted | spec,
    }
