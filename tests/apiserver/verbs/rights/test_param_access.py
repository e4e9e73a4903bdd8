"""Writers of policies and bindings may read the parameters that they name."""

from collections.abc import AsyncIterator

import pytest

from plimsoll.api.registry import Document
from tests.apiserver.access.people import RBAC, a_person, guarded
from tests.apiserver.admission.policies.objects import BINDINGS, POLICIES, a_binding, a_policy
from tests.apiserver.api import Api

RBAC_GROUP = "rbac.authorization.k8s.io"
SECRETS = {"apiVersion": "v1", "kind": "Secret"}
POLICY_WRITER: Document = {
    "verbs": ["*"],
    "apiGroups": ["admissionregistration.k8s.io"],
    "resources": ["*"],
}
READS_SECRETS: Document = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}


async def allow_everywhere(api: Api, user: str, *rules: Document) -> None:
    role = {"metadata": {"name": f"of-{user}"}, "rules": list(rules)}
    binding = {
        "metadata": {"name": f"of-{user}"},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": f"of-{user}"},
        "subjects": [{"kind": "User", "name": user}],
    }
    assert (await api.ask("POST", f"{RBAC}/clusterroles", role)).status == 201
    assert (await api.ask("POST", f"{RBAC}/clusterrolebindings", binding)).status == 201


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with guarded() as api:
        await allow_everywhere(api, "ann", POLICY_WRITER)
        await allow_everywhere(api, "bob", POLICY_WRITER, READS_SECRETS)
        yield api


async def test_a_policy_needs_the_right_to_read_its_kind_of_parameters(api: Api) -> None:
    policy = a_policy("p", "true", paramKind=SECRETS)

    refused = await a_person(api, "ann").ask("POST", POLICIES, policy)

    assert refused.status == 422
    [cause] = refused.document["details"]["causes"]
    assert cause["field"] == "spec.paramKind"
    assert 'must have "get" permission on all objects' in cause["message"]
    assert (await a_person(api, "bob").ask("POST", POLICIES, policy)).status == 201


async def test_a_binding_needs_the_right_to_read_its_parameters(api: Api) -> None:
    assert (await api.ask("POST", POLICIES, a_policy("p", "true", paramKind=SECRETS))).status == 201
    named = {"name": "a", "namespace": "default", "parameterNotFoundAction": "Deny"}
    binding = a_binding("p", paramRef=named)

    refused = await a_person(api, "ann").ask("POST", BINDINGS, binding)

    assert refused.status == 422
    assert 'does not have "get" permission' in refused.document["message"]
    assert (await a_person(api, "bob").ask("POST", BINDINGS, binding)).status == 201
    chosen = {"selector": {}, "parameterNotFoundAction": "Deny"}
    listing = a_binding("p", paramRef=chosen)
    listing["metadata"]["name"] = "listing"
    assert (await a_person(api, "bob").ask("POST", BINDINGS, listing)).status == 422


async def test_what_names_no_parameters_needs_no_right_to_read(api: Api) -> None:
    ann = a_person(api, "ann")
    assert (await ann.ask("POST", POLICIES, a_policy("p", "true"))).status == 201
    assert (await ann.ask("POST", BINDINGS, a_binding("p"))).status == 201
    label = {"metadata": {"labels": {"a": "b"}}}
    assert (await ann.ask("PATCH", f"{POLICIES}/p", label)).status == 200


async def test_a_policy_that_is_not_there_asks_for_the_right_to_read_everything(api: Api) -> None:
    named = {"name": "a", "parameterNotFoundAction": "Deny"}
    refused = await a_person(api, "bob").ask("POST", BINDINGS, a_binding("p", paramRef=named))
    assert refused.status == 422
    assert "unable to get policy p" in refused.document["message"]
