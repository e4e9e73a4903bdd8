"""What the server keeps is there when it starts, and follows what changes."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

import pytest

from plimsoll.apiserver.upkeep.aggregated_roles import AggregatedRoles
from plimsoll.apiserver.upkeep.client_authority import ClientAuthority
from plimsoll.apiserver.upkeep.default_accounts import DefaultAccounts
from plimsoll.apiserver.upkeep.keeper import Upkeep
from plimsoll.apiserver.upkeep.root_certificates import RootCertificates
from plimsoll.apiserver.upkeep.token_secrets import TokenSecrets
from plimsoll.apiserver.upkeep.token_tracking import TokenTracking
from plimsoll.runtime.clock import SteppedClock, settle
from tests.apiserver.access.people import ACCOUNTS, RBAC, TOKEN_REVIEWS, guarded
from tests.apiserver.api import Api

ROLES = f"{RBAC}/clusterroles"
SECRETS = "/api/v1/namespaces/default/secrets"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
RULE = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["things"]}


@asynccontextmanager
async def kept(clock: SteppedClock | None = None) -> AsyncIterator[Api]:
    async with guarded(clock) as api:
        cluster = api.server.cluster
        keepers = (
            AggregatedRoles(cluster),
            TokenSecrets(cluster, b"authority"),
            DefaultAccounts(cluster),
            RootCertificates(cluster, b"authority"),
            TokenTracking(cluster),
            ClientAuthority(cluster, b"authority"),
        )
        upkeep = Upkeep(cluster, keepers)
        cluster.authenticator.tokens.uses.follow(partial(upkeep.tell, "secrets"))
        await upkeep.begin()
        running = asyncio.ensure_future(upkeep.run())
        try:
            yield api
        finally:
            running.cancel()


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def api(clock: SteppedClock) -> AsyncIterator[Api]:
    async with kept(clock) as api:
        yield api


async def test_admin_edit_and_view_have_rules_from_the_start(api: Api) -> None:
    numbers = {}
    for name in ("view", "edit", "admin"):
        numbers[name] = len((await api.ask("GET", f"{ROLES}/{name}")).document["rules"])
    assert 0 < numbers["view"] < numbers["edit"] < numbers["admin"]


async def test_a_labelled_role_adds_its_rules_through_all_levels(api: Api) -> None:
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    more = {"metadata": {"name": "things", "labels": label}, "rules": [RULE]}
    assert (await api.ask("POST", ROLES, more)).status == 201
    await settle()
    for name in ("view", "edit", "admin"):
        assert RULE in (await api.ask("GET", f"{ROLES}/{name}")).document["rules"]
    await api.ask("DELETE", f"{ROLES}/things")
    await settle()
    for name in ("view", "edit", "admin"):
        assert RULE not in (await api.ask("GET", f"{ROLES}/{name}")).document["rules"]


def a_secret(name: str = "token") -> dict[str, object]:
    return {
        "metadata": {"name": name, "annotations": {"kubernetes.io/service-account.name": "robot"}},
        "type": "kubernetes.io/service-account-token",
    }


async def test_a_secret_for_a_token_is_filled_and_ends_with_its_account(api: Api) -> None:
    await api.ask("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    await api.ask("POST", SECRETS, a_secret())
    await settle()
    data = (await api.ask("GET", f"{SECRETS}/token")).document["data"]
    assert base64.b64decode(data["ca.crt"]) == b"authority"
    assert base64.b64decode(data["namespace"]) == b"default"
    token = base64.b64decode(data["token"]).decode()
    review = {"spec": {"token": token}}
    found = (await api.ask("POST", TOKEN_REVIEWS, review)).document["status"]
    assert found["user"]["username"] == "system:serviceaccount:default:robot"
    await api.ask("DELETE", f"{ACCOUNTS}/robot")
    await settle()
    assert (await api.ask("GET", f"{SECRETS}/token")).status == 404
    found = (await api.ask("POST", TOKEN_REVIEWS, review)).document["status"]
    assert "authenticated" not in found


LAST_USED = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"


async def filled_token(api: Api) -> str:
    await api.ask("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    await api.ask("POST", SECRETS, a_secret())
    await settle()
    data = (await api.ask("GET", f"{SECRETS}/token")).document["data"]
    return base64.b64decode(data["token"]).decode()


async def is_accepted(api: Api, token: str) -> bool:
    review = await api.ask("POST", TOKEN_REVIEWS, {"spec": {"token": token}})
    await settle()
    return bool(review.document["status"].get("authenticated"))


async def labels_of_secret(api: Api) -> dict[str, str]:
    meta = (await api.ask("GET", f"{SECRETS}/token")).document["metadata"]
    labels: dict[str, str] = meta.get("labels", {})
    return labels


async def test_a_secret_says_on_which_day_its_token_was_used_last(
    api: Api, clock: SteppedClock
) -> None:
    token = await filled_token(api)
    assert LAST_USED not in await labels_of_secret(api)
    for _ in range(3):
        assert await is_accepted(api, token)
        assert (await labels_of_secret(api))[LAST_USED] == clock.now().date().isoformat()
        clock.advance(timedelta(days=1))


async def test_a_use_is_noted_once_a_day(api: Api) -> None:
    token = await filled_token(api)
    assert await is_accepted(api, token)
    noted = (await api.ask("GET", f"{SECRETS}/token")).document["metadata"]["resourceVersion"]
    assert await is_accepted(api, token)
    again = (await api.ask("GET", f"{SECRETS}/token")).document["metadata"]["resourceVersion"]
    assert again == noted


async def test_a_token_is_refused_while_its_secret_is_marked_as_invalid(api: Api) -> None:
    token = await filled_token(api)
    for day, accepted in (("2026-01-01", False), ("", True)):
        body = {"metadata": {"labels": {INVALID_SINCE: day}}}
        await api.ask("PATCH", f"{SECRETS}/token", body)
        assert await is_accepted(api, token) is accepted
    assert LAST_USED in await labels_of_secret(api)


async def test_it_is_told_since_when_uses_of_tokens_are_noted(
    api: Api, clock: SteppedClock
) -> None:
    path = (
        "/api/v1/namespaces/kube-system/configmaps/"
        "kube-apiserver-legacy-service-account-token-tracking"
    )
    first = clock.now().date().isoformat()
    clock.advance(timedelta(days=2))
    held = (await api.ask("GET", path)).document
    assert held["data"] == {"since": first}
    await api.ask("PUT", path, held | {"data": {"since": "long ago"}})
    await settle()
    told = (await api.ask("GET", path)).document["data"]
    assert told == {"since": clock.now().date().isoformat()}


async def test_other_servers_are_told_whose_client_certificates_count(api: Api) -> None:
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    assert (await api.ask("GET", path)).document["data"] == {"client-ca-file": "authority"}
    await api.ask("DELETE", path)
    await settle()
    assert (await api.ask("GET", path)).document["data"] == {"client-ca-file": "authority"}


async def test_a_secret_that_is_older_than_its_account_is_filled_later(api: Api) -> None:
    await api.ask("POST", SECRETS, a_secret())
    await settle()
    assert "data" not in (await api.ask("GET", f"{SECRETS}/token")).document
    await api.ask("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    await settle()
    assert "token" in (await api.ask("GET", f"{SECRETS}/token")).document["data"]


async def test_every_namespace_has_a_default_account_and_the_authority(api: Api) -> None:
    await api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}})
    await settle()
    for namespace in ("default", "new"):
        base = f"/api/v1/namespaces/{namespace}"
        assert (await api.ask("GET", f"{base}/serviceaccounts/default")).status == 200
        held = await api.ask("GET", f"{base}/configmaps/kube-root-ca.crt")
        assert held.document["data"] == {"ca.crt": "authority"}
    await api.ask("DELETE", "/api/v1/namespaces/new/configmaps/kube-root-ca.crt")
    await settle()
    assert (
        await api.ask("GET", "/api/v1/namespaces/new/configmaps/kube-root-ca.crt")
    ).status == 200


async def test_a_namespace_that_goes_is_given_nothing_more(api: Api) -> None:
    await api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "old"}})
    await settle()
    await api.ask("DELETE", "/api/v1/namespaces/old")
    await api.ask("DELETE", "/api/v1/namespaces/old/serviceaccounts/default")
    await settle()
    assert (await api.ask("GET", "/api/v1/namespaces/old/serviceaccounts/default")).status == 404


async def test_what_the_server_keeps_needs_no_webhook(api: Api) -> None:
    everything = {
        "operations": ["*"],
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "resources": ["configmaps", "serviceaccounts"],
    }
    webhook = {
        "name": "gone.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [everything],
    }
    body = {"metadata": {"name": "gone"}, "webhooks": [webhook]}
    assert (await api.ask("POST", WEBHOOKS, body)).status == 201
    await api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "late"}})
    await settle()

    assert (await api.ask("GET", "/api/v1/namespaces/late/serviceaccounts/default")).status == 200
    path = "/api/v1/namespaces/late/configmaps/kube-root-ca.crt"
    assert (await api.ask("GET", path)).status == 200
