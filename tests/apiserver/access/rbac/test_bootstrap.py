"""What every cluster begins with, and what becomes of it when a server starts again."""

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.node_authorizer import node_rules
from plimsoll.apiserver.access.rbac.bootstrap import (
    AUTOUPDATE,
    bootstrap_roles,
    is_rebound,
    reconciled,
)


def named(documents: tuple[Document, ...], name: str) -> Document:
    return next(each for each in documents if each["metadata"]["name"] == name)


def test_the_administrators_role_and_its_binding_are_there() -> None:
    made = bootstrap_roles()
    admin = named(made.cluster_roles, "cluster-admin")
    assert admin["rules"][0] == {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    assert admin["metadata"]["labels"] == {"kubernetes.io/bootstrapping": "rbac-defaults"}
    assert admin["metadata"]["annotations"] == {AUTOUPDATE: "true"}
    binding = named(made.cluster_role_bindings, "cluster-admin")
    assert [each["name"] for each in binding["subjects"]] == ["system:masters"]


def test_the_role_of_nodes_is_bound_to_no_subject() -> None:
    assert "subjects" not in named(bootstrap_roles().cluster_role_bindings, "system:node")
    lookup = AccessAttributes(verb="list", resource="services")
    assert any(rule.allows(lookup) for rule in node_rules())


def test_what_is_as_it_should_be_is_left_alone() -> None:
    for documents in bootstrap_roles().by_plural().values():
        for document in documents:
            assert reconciled(document, document) is None
            assert reconciled(document, None) is document


def test_missing_rules_and_subjects_come_back_and_others_stay() -> None:
    expected = named(bootstrap_roles().cluster_roles, "system:public-info-viewer")
    extra = {"verbs": ["get"], "nonResourceURLs": ["/more"]}
    held = expected | {"rules": [extra]}
    mended = reconciled(expected, held)
    assert mended is not None
    assert mended["rules"][0] == extra
    assert reconciled(expected, mended) is None
    binding = named(bootstrap_roles().cluster_role_bindings, "system:discovery")
    emptied = {field: value for field, value in binding.items() if field != "subjects"}
    assert (reconciled(binding, emptied) or {})["subjects"] == binding["subjects"]


def test_an_object_that_says_so_is_not_touched() -> None:
    expected = named(bootstrap_roles().cluster_role_bindings, "system:discovery")
    meta = expected["metadata"] | {"annotations": {AUTOUPDATE: "false"}}
    held = {"metadata": meta, "roleRef": {"kind": "ClusterRole", "name": "other"}}
    assert reconciled(expected, held) is None
    assert not is_rebound(expected, held)


def test_a_binding_to_another_role_is_made_anew() -> None:
    expected = named(bootstrap_roles().cluster_role_bindings, "system:discovery")
    assert is_rebound(expected, expected | {"roleRef": {"kind": "ClusterRole", "name": "other"}})
    assert not is_rebound(expected, expected)
