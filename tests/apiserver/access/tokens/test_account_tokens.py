"""A token is valid while it lasts and while everything that it names exists."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from plimsoll.apiserver.access.tokens.jwt import verified_claims
from plimsoll.runtime.clock import SteppedClock
from tests.apiserver.access.people import (
    ACCOUNTS,
    READ_PODS,
    TOKEN_REVIEWS,
    allow,
    guarded,
    token_for,
)
from tests.apiserver.api import Api

ROBOT = "system:serviceaccount:default:robot"
PODS = "/api/v1/namespaces/default/pods"
SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def api(clock: SteppedClock) -> AsyncIterator[Api]:
    async with guarded(clock) as api:
        await api.ask("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
        yield api


async def is_valid(api: Api, token: str, *audiences: str) -> bool:
    spec = {"token": token, "audiences": list(audiences)}
    reply = await api.ask("POST", TOKEN_REVIEWS, {"spec": spec})
    assert reply.status == 201
    status = reply.document["status"]
    assert ("error" in status) is not status.get("authenticated", False)
    return bool(status.get("authenticated"))


async def a_pod(api: Api, name: str = "web", **spec: object) -> str:
    body = {
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "robot"} | spec,
    }
    reply = await api.ask("POST", PODS, body)
    uid: str = reply.document["metadata"]["uid"]
    return uid


async def test_a_token_says_whose_it_is(api: Api) -> None:
    token = await token_for(api, "robot")
    reply = await api.ask("POST", TOKEN_REVIEWS, {"spec": {"token": token}})
    status = reply.document["status"]
    assert status["user"]["username"] == ROBOT
    assert status["user"]["groups"] == [
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    ]
    assert status["user"]["extra"]["authentication.kubernetes.io/credential-id"][0][:4] == "JTI="
    assert status["audiences"] == ["https://kubernetes.default.svc"]


async def test_a_token_ends_after_its_time(api: Api, clock: SteppedClock) -> None:
    token = await token_for(api, "robot", expirationSeconds=600)
    clock.advance(timedelta(seconds=590))
    assert await is_valid(api, token)
    clock.advance(timedelta(seconds=90))
    assert not await is_valid(api, token)


async def test_a_token_is_for_its_audiences_alone(api: Api) -> None:
    token = await token_for(api, "robot", audiences=["vault"])
    assert not await is_valid(api, token)
    assert await is_valid(api, token, "vault", "other")


async def test_a_token_ends_with_its_account_even_if_that_comes_back(api: Api) -> None:
    token = await token_for(api, "robot")
    assert await is_valid(api, token)
    await api.ask("DELETE", f"{ACCOUNTS}/robot")
    assert not await is_valid(api, token)
    await api.ask("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    assert not await is_valid(api, token)


async def test_a_token_ends_with_the_pod_that_it_is_bound_to(api: Api) -> None:
    await a_pod(api)
    token = await token_for(
        api, "robot", boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "web"}
    )
    assert await is_valid(api, token)
    await api.ask("PATCH", f"{PODS}/web", {"metadata": {"labels": {"a": "b"}}})
    assert await is_valid(api, token)
    await api.ask("DELETE", f"{PODS}/web", {"gracePeriodSeconds": 0})
    assert not await is_valid(api, token)
    await a_pod(api)
    assert not await is_valid(api, token)


@pytest.mark.parametrize(
    ("kind", "path"), [("Secret", SECRETS), ("Node", "/api/v1/nodes")], ids=["secret", "node"]
)
async def test_a_token_ends_with_what_else_it_is_bound_to(api: Api, kind: str, path: str) -> None:
    await api.ask("POST", path, {"metadata": {"name": "held"}})
    reference = {"kind": kind, "apiVersion": "v1", "name": "held"}
    token = await token_for(api, "robot", boundObjectRef=reference)
    assert await is_valid(api, token)
    await api.ask("DELETE", f"{path}/held")
    assert not await is_valid(api, token)


async def test_the_default_token_of_a_pod_lasts_a_year_and_names_its_node(api: Api) -> None:
    await a_pod(api, nodeName="node-a")
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "web"}
    token = await token_for(api, "robot", boundObjectRef=reference, expirationSeconds=3607)
    claims = verified_claims(token, api.server.cluster.authenticator.tokens.key)
    assert claims["exp"] - claims["iat"] == 365 * 24 * 3600
    assert claims["kubernetes.io"]["warnafter"] - claims["iat"] == 3607
    assert claims["kubernetes.io"]["node"] == {"name": "node-a"}
    assert claims["sub"] == ROBOT


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ({"kind": "Pod", "apiVersion": "v1", "name": "none"}, 404),
        ({"kind": "Pod", "apiVersion": "v1", "name": "web", "uid": "x"}, 409),
        ({"kind": "Pod", "apiVersion": "v1", "name": "other"}, 400),
        ({"kind": "Deployment", "apiVersion": "apps/v1", "name": "web"}, 400),
    ],
)
async def test_a_token_is_not_bound_to_what_is_not_the_accounts(
    api: Api, reference: dict[str, str], code: int
) -> None:
    await a_pod(api)
    await a_pod(api, "other", serviceAccountName="someone")
    body = {"spec": {"boundObjectRef": reference}}
    assert (await api.ask("POST", f"{ACCOUNTS}/robot/token", body)).status == code


async def test_rights_of_an_account_are_those_of_its_user(api: Api) -> None:
    await allow(api, ROBOT, READ_PODS)
    review = {
        "spec": {
            "user": ROBOT,
            "resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "default"},
        }
    }
    reply = await api.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert reply.document["status"]["allowed"]


async def test_the_administrators_and_empty_tokens_are_reviewed_too(api: Api) -> None:
    assert not await is_valid(api, "nonsense")
    assert (await api.ask("POST", TOKEN_REVIEWS, {"spec": {}})).status == 400
