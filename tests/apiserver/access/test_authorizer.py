"""Requests are answered for those who may ask, and refused in Kubernetes' words."""

from collections.abc import AsyncIterator

import pytest

from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.authorizer import AccessControl, AuthorizationMode, parse_modes
from plimsoll.apiserver.access.users import ADMIN, ANONYMOUS, User
from tests.apiserver.access.people import (
    HERE,
    RBAC,
    READ_PODS,
    Person,
    a_person,
    allow,
    bind,
    guarded,
)
from tests.apiserver.api import Api

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with guarded() as api:
        yield api


async def test_a_role_allows_its_verbs_in_its_namespace_alone(api: Api) -> None:
    ann = a_person(api, "ann")
    refused = await ann.ask("GET", PODS)
    assert refused.document["message"] == (
        'pods is forbidden: User "ann" cannot list resource "pods" in API group "" in the '
        'namespace "default"'
    )
    await allow(api, "ann", READ_PODS)
    assert (await ann.ask("GET", PODS)).status == 200
    assert (await ann.ask("GET", PODS, watch="true")).status == 403
    assert (await ann.ask("DELETE", PODS)).status == 403
    assert (await ann.ask("GET", "/api/v1/pods")).status == 403
    assert (await ann.ask("GET", "/api/v1/namespaces/kube-system/pods")).status == 403
    assert (await ann.ask("GET", f"{PODS}/x/log")).status == 403


async def test_the_right_ends_with_the_binding_and_with_the_role(api: Api) -> None:
    ann = a_person(api, "ann")
    await allow(api, "ann", READ_PODS)
    assert (await ann.ask("GET", PODS)).status == 200
    await api.ask("PATCH", f"{HERE}/roles/ann", {"rules": []})
    assert (await ann.ask("GET", PODS)).status == 403
    await api.ask("DELETE", f"{HERE}/roles/ann")
    refused = await ann.ask("GET", PODS)
    assert 'RBAC: role.rbac.authorization.k8s.io "ann" not found' in refused.document["message"]


async def test_a_rule_with_a_name_allows_a_list_of_that_name(api: Api) -> None:
    bob = a_person(api, "bob")
    await allow(api, "bob", READ_PODS | {"resourceNames": ["web"]})
    assert (await bob.ask("GET", PODS, fieldSelector="metadata.name=web")).status == 200
    assert (await bob.ask("GET", PODS, fieldSelector="metadata.name=db")).status == 403
    assert (await bob.ask("GET", PODS, fieldSelector="metadata.name!=web")).status == 403
    assert (await bob.ask("GET", PODS)).status == 403
    assert (await bob.ask("GET", f"{PODS}/web")).status == 404
    assert (await bob.ask("GET", f"{PODS}/db")).status == 403


async def test_who_has_a_role_in_a_namespace_may_read_the_namespace(api: Api) -> None:
    ann = a_person(api, "ann")
    await allow(api, "ann", {"verbs": ["get"], "apiGroups": [""], "resources": ["namespaces"]})
    assert (await ann.ask("GET", "/api/v1/namespaces/default")).status == 200
    assert (await ann.ask("GET", "/api/v1/namespaces/kube-system")).status == 403
    assert (await ann.ask("GET", "/api/v1/namespaces")).status == 403


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/healthz", True),
        ("GET", "/readyz", True),
        ("GET", "/livez", True),
        ("GET", "/version", True),
        ("HEAD", "/livez", False),
        ("POST", "/healthz", False),
        ("GET", "/healthzz", False),
        ("GET", "/metrics", False),
        ("GET", "/api", False),
        ("GET", "/openid/v1/jwks", False),
        ("GET", "/api/v1/secrets", False),
    ],
)
async def test_the_anonymous_see_health_and_version(
    api: Api, method: str, path: str, *, allowed: bool
) -> None:
    stranger = Person(api, ANONYMOUS)
    assert (await stranger.ask(method, path)).status == (200 if allowed else 403)


async def test_the_authenticated_see_what_there_is_and_no_objects(api: Api) -> None:
    ann = a_person(api, "ann")
    for path in ("/api", "/apis", "/api/v1", "/apis/apps/v1", "/openapi/v3", "/version"):
        assert (await ann.ask("GET", path)).status == 200, path
    for path in ("/metrics", "/api/v1/secrets", f"{RBAC}/clusterroles", "/api/v1/nothing"):
        assert (await ann.ask("GET", path)).status == 403, path


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/default/secrets/../pods",
        "//api/v1/namespaces/default/secrets",
        "/api/v1/namespaces/default/secrets/",
        "/api/v1/namespaces/default%2Fsecrets",
        "/api/v1/namespaces/%64efault/secrets",
        "/api/v1/watch/namespaces/default/secrets",
        "/api/v1/watch/secrets",
        "/api/v1//secrets",
        "/api//v1/secrets",
        "/apis//v1/secrets",
    ],
)
async def test_no_spelling_of_a_path_leads_past_a_role(api: Api, path: str) -> None:
    ann = a_person(api, "ann")
    await allow(api, "ann", READ_PODS)
    assert (await ann.ask("GET", path)).status in (403, 404)


async def test_a_namespace_admin_may_do_what_the_aggregated_role_says(api: Api) -> None:
    assert (await bind(api, "edit", "ann", "ClusterRole")).status == 201
    rule = {"verbs": ["create"], "apiGroups": [""], "resources": ["configmaps"]}
    gathered = {
        "metadata": {
            "name": "more",
            "labels": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"},
        },
        "rules": [rule],
    }
    assert (await api.ask("POST", f"{RBAC}/clusterroles", gathered)).status == 201


def test_modes_are_asked_in_turn_and_masters_never() -> None:
    asked = AccessAttributes(verb="get", resource="pods")
    ann = User(name="ann")
    deny, everything = AuthorizationMode.ALWAYS_DENY, AuthorizationMode.ALWAYS_ALLOW
    assert not AccessControl(modes=(deny,)).allows(ann, asked)
    assert AccessControl(modes=(deny,)).allows(ADMIN, asked)
    assert AccessControl(modes=(deny, everything)).allows(ann, asked)
    assert list(AccessControl(modes=(everything,)).rules_of(ann, "red"))


@pytest.mark.parametrize("text", ["", "RBAC,RBAC", "rbac", "Webhook", "Node,ABAC"])
def test_modes_that_do_not_exist_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"mode|does not have it"):
        parse_modes(text)


def test_modes_are_named_as_in_kubernetes() -> None:
    assert parse_modes("Node, RBAC") == (AuthorizationMode.NODE, AuthorizationMode.RBAC)
