"""Writers of roles and bindings grant what they have, or what they may escalate and bind."""

from collections.abc import AsyncIterator

import pytest

from plimsoll.api.registry import Document
from tests.apiserver.access.people import (
    HERE,
    RBAC,
    READ_PODS,
    a_person,
    allow,
    bind,
    guarded,
)
from tests.apiserver.api import Api

GROUP = "rbac.authorization.k8s.io"
WRITES = ["create", "update", "patch", "get", "list", "delete"]
WRITE_ROLES: Document = {
    "verbs": WRITES,
    "apiGroups": [GROUP],
    "resources": ["roles", "rolebindings"],
}
SECRETS: Document = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with guarded() as api:
        await allow(api, "ann", WRITE_ROLES, READ_PODS)
        yield api


def a_role(name: str, *rules: Document) -> Document:
    return {"metadata": {"name": name}, "rules": list(rules)}


async def test_a_role_with_what_its_writer_has_is_created(api: Api) -> None:
    ann = a_person(api, "ann")
    assert (await ann.ask("POST", f"{HERE}/roles", a_role("ok", READ_PODS))).status == 201
    refused = await ann.ask("POST", f"{HERE}/roles", a_role("more", SECRETS))
    assert refused.status == 403
    assert "attempting to grant RBAC permissions not currently held" in refused.document["message"]
    assert (await ann.ask("GET", f"{HERE}/roles/more")).status == 404


async def test_no_verb_adds_rules_that_its_writer_lacks(api: Api) -> None:
    ann = a_person(api, "ann")
    await ann.ask("POST", f"{HERE}/roles", a_role("ok", READ_PODS))
    more = {"rules": [SECRETS]}
    assert (await ann.ask("PATCH", f"{HERE}/roles/ok", more)).status == 403
    assert (await ann.ask("PUT", f"{HERE}/roles/ok", a_role("ok", SECRETS))).status == 403
    assert (await ann.ask("PUT", f"{HERE}/roles/new", a_role("new", SECRETS))).status == 403
    fewer = await ann.ask("PATCH", f"{HERE}/roles/ok", {"rules": []})
    assert fewer.status == 200


async def test_a_role_that_is_too_large_for_its_writer_keeps_what_owners_it_has(api: Api) -> None:
    ann = a_person(api, "ann")
    await api.ask("POST", f"{HERE}/roles", a_role("large", SECRETS))
    finalizers = {"metadata": {"finalizers": ["example.com/held"]}}
    assert (await ann.ask("PATCH", f"{HERE}/roles/large", finalizers)).status == 200
    labels = {"metadata": {"labels": {"a": "b"}}}
    assert (await ann.ask("PATCH", f"{HERE}/roles/large", labels)).status == 403


async def test_the_verb_escalate_allows_it(api: Api) -> None:
    escalate = {"verbs": ["escalate", "create"], "apiGroups": [GROUP], "resources": ["roles"]}
    await allow(api, "bob", escalate)
    bob = a_person(api, "bob")
    assert (await bob.ask("POST", f"{HERE}/roles", a_role("more", SECRETS))).status == 201


async def test_a_binding_needs_the_rights_of_its_role_or_the_verb_bind(api: Api) -> None:
    ann = a_person(api, "ann")
    await api.ask("POST", f"{HERE}/roles", a_role("small", READ_PODS))
    await api.ask("POST", f"{HERE}/roles", a_role("large", SECRETS))
    assert (await bind(ann, "small", "carol")).status == 201
    assert (await bind(ann, "large", "carol")).status == 403
    assert (await bind(ann, "cluster-admin", "ann", "ClusterRole")).status == 403
    assert (await bind(ann, "missing", "ann")).status == 404
    named = {"verbs": ["bind"], "apiGroups": [GROUP], "resources": ["roles"]}
    await allow(api, "ann", named | {"resourceNames": ["large"]}, name="binder")
    assert (await bind(ann, "large", "carol")).status == 201


async def test_subjects_are_not_added_to_a_binding_that_could_not_be_created(api: Api) -> None:
    ann = a_person(api, "ann")
    await api.ask("POST", f"{HERE}/roles", a_role("large", SECRETS))
    made = await bind(api, "large", "carol")
    subjects = {"subjects": [{"kind": "User", "name": "ann", "apiGroup": GROUP}]}
    path = f"{HERE}/rolebindings/{made.document['metadata']['name']}"
    assert (await ann.ask("PATCH", path, subjects)).status == 403


async def test_only_administrators_write_roles_that_gather(api: Api) -> None:
    rule = {"verbs": WRITES, "apiGroups": [GROUP], "resources": ["clusterroles"]}
    await api.ask("POST", f"{RBAC}/clusterroles", a_role("writer", rule))
    binding = {
        "metadata": {"name": "writer"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "writer"},
        "subjects": [{"kind": "Group", "name": "writers"}],
    }
    await api.ask("POST", f"{RBAC}/clusterrolebindings", binding)
    writer = a_person(api, "wes", "writers")
    gathers = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    refused = await writer.ask("POST", f"{RBAC}/clusterroles", a_role("gathers") | gathers)
    assert refused.status == 403
    assert "must have cluster-admin privileges" in refused.document["message"]
    assert (await writer.ask("POST", f"{RBAC}/clusterroles", a_role("plain"))).status == 201
    refused = await writer.ask("PATCH", f"{RBAC}/clusterroles/plain", gathers)
    assert refused.status == 403
