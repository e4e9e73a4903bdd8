from collections import Counter

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.access.rbac import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    ROLE,
    ROLE_BINDING,
)
from tests.apiserver.model.kinds.complaints import complaints

GROUP = "rbac.authorization.k8s.io"
ACCOUNT = {"kind": "ServiceAccount", "name": "sa", "namespace": "team"}


def a_binding(role: Document | None = None, *subjects: Document) -> Document:
    ref = {"apiGroup": "", "kind": "Role", "name": "r"} | (role or {})
    binding: Document = {"metadata": {}, "roleRef": ref, "subjects": list(subjects)}
    ROLE_BINDING.default(binding)
    return binding


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}, [], id="whole"),
        pytest.param(
            {"apiGroups": [""], "verbs": ["get"]}, [("Required", "resources")], id="no-resources"
        ),
        pytest.param(
            {"resources": ["pods"]},
            [("Required", "verbs"), ("Required", "apiGroups")],
            id="no-verbs-no-groups",
        ),
        pytest.param(
            {"nonResourceURLs": ["/x"], "verbs": ["get"]},
            [("Invalid", "nonResourceURLs")],
            id="urls-are-not-of-a-namespace",
        ),
    ],
)
def test_rules_of_a_role_are_complete(rule: Document, expected: list[tuple[str, str]]) -> None:
    found = complaints(ROLE.validate({"metadata": {}, "rules": [rule]}))

    assert found == Counter((reason, f"rules[0].{field}") for reason, field in expected)


def test_a_role_may_allow_nothing() -> None:
    assert complaints(ROLE.validate({"metadata": {}, "rules": None})) == Counter()


def test_a_cluster_role_may_name_urls_or_resources_but_not_both() -> None:
    rule = {"nonResourceURLs": ["/x"], "verbs": ["get"]}

    assert complaints(CLUSTER_ROLE.validate({"metadata": {}, "rules": [rule]})) == Counter()
    mixed = rule | {"resources": ["pods"]}
    found = complaints(CLUSTER_ROLE.validate({"metadata": {}, "rules": [mixed]}))
    assert found == Counter([("Invalid", "rules[0].nonResourceURLs")])


def test_groups_are_filled_in_where_only_one_is_possible() -> None:
    binding = a_binding(None, {"kind": "User", "name": "bob"}, ACCOUNT)

    assert binding["roleRef"]["apiGroup"] == GROUP
    assert binding["subjects"] == [{"kind": "User", "name": "bob", "apiGroup": GROUP}, ACCOUNT]
    assert complaints(ROLE_BINDING.validate(binding)) == Counter()


@pytest.mark.parametrize(
    ("role", "subject", "expected"),
    [
        ({"kind": "Foo"}, ACCOUNT, [("NotSupported", "roleRef.kind")]),
        ({"name": ""}, ACCOUNT, [("Required", "roleRef.name")]),
        ({"apiGroup": "x"}, ACCOUNT, [("NotSupported", "roleRef.apiGroup")]),
        ({}, {"kind": "Foo", "name": "x"}, [("NotSupported", "subjects[0].kind")]),
        ({}, {"kind": "Group"}, [("Required", "subjects[0].name")]),
        ({}, ACCOUNT | {"name": "Not_valid"}, [("Invalid", "subjects[0].name")]),
        ({}, ACCOUNT | {"apiGroup": "x"}, [("NotSupported", "subjects[0].apiGroup")]),
    ],
)
def test_bindings_name_a_role_and_a_subject(
    role: Document, subject: Document, expected: list[tuple[str, str]]
) -> None:
    assert complaints(ROLE_BINDING.validate(a_binding(role, subject))) == Counter(expected)


def test_a_cluster_wide_binding_says_where_accounts_live() -> None:
    binding = a_binding({"kind": "ClusterRole"}, {"kind": "ServiceAccount", "name": "sa"})

    assert complaints(ROLE_BINDING.validate(binding)) == Counter()
    found = complaints(CLUSTER_ROLE_BINDING.validate(binding))
    assert found == Counter([("Required", "subjects[0].namespace")])


def test_a_binding_keeps_its_role() -> None:
    found = complaints(ROLE_BINDING.validate_update(a_binding({"name": "other"}), a_binding()))

    assert found == Counter([("Invalid", "roleRef")])


def test_names_may_hold_all_that_a_url_can() -> None:
    assert ROLE.name_errors("system:node:Öne", False) == []
    assert len(ROLE.name_errors("a/b%c", False)) == 2
    assert len(ROLE.name_errors("..", True)) == 1
