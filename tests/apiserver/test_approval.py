"""What was decided about a certificate signing request stays decided."""

import pytest

from plimsoll.api.registry import Document
from tests.apiserver.access.people import RBAC, a_person, guarded
from tests.apiserver.api import Api, Reply
from tests.apiserver.model.kinds.access.certificates import encoded_request

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
APPROVED = {"type": "Approved", "status": "True", "reason": "Seen"}
DENIED = {"type": "Denied", "status": "True"}
FAILED = {"type": "Failed", "status": "True"}


async def a_request(api: Api) -> None:
    spec = {"request": encoded_request(), "signerName": "a.b/c", "usages": ["client auth"]}
    assert (
        await api.ask("POST", REQUESTS, {"metadata": {"name": "a"}, "spec": spec})
    ).status == 201


async def written(api: Api, part: str, *conditions: Document) -> Reply:
    body = {"status": {"conditions": list(conditions)}}
    return await api.ask("PATCH", f"{REQUESTS}/a/{part}", body)


def kinds(reply: Reply) -> list[tuple[str, str]]:
    found = reply.document["status"]["conditions"]
    return [(condition["type"], condition.get("reason", "")) for condition in found]


async def test_a_request_is_approved_through_its_approval_alone(api: Api) -> None:
    await a_request(api)
    assert (await written(api, "status", APPROVED)).status == 422
    approved = await written(api, "approval", APPROVED)
    assert (approved.status, kinds(approved)) == (200, [("Approved", "Seen")])
    (condition,) = approved.document["status"]["conditions"]
    assert condition["lastTransitionTime"] == condition["lastUpdateTime"]


@pytest.mark.parametrize("part", ["approval", "status"])
async def test_an_approval_cannot_be_taken_back(api: Api, part: str) -> None:
    await a_request(api)
    await written(api, "approval", APPROVED)
    refused = await written(api, part)
    assert refused.status == 422
    assert 'may not remove a condition of type "Approved"' in refused.document["message"]


async def test_a_request_is_not_approved_and_denied(api: Api) -> None:
    await a_request(api)
    await written(api, "approval", APPROVED)
    assert (await written(api, "approval", APPROVED, DENIED)).status == 422


async def test_a_signer_that_writes_the_status_does_not_change_the_verdict(api: Api) -> None:
    await a_request(api)
    await written(api, "approval", APPROVED)
    changed = await written(api, "status", FAILED, APPROVED | {"reason": "Other"})
    assert kinds(changed) == [("Failed", ""), ("Approved", "Seen")]


async def test_a_verdict_is_true_or_not_there(api: Api) -> None:
    await a_request(api)
    assert (await written(api, "approval", APPROVED | {"status": "False"})).status == 422


async def test_a_certificate_is_given_once_and_not_through_the_approval(api: Api) -> None:
    await a_request(api)
    path = f"{REQUESTS}/a"
    ignored = await api.ask("PATCH", f"{path}/approval", {"status": {"certificate": "YQ=="}})
    assert "certificate" not in ignored.document["status"]
    given = await api.ask("PATCH", f"{path}/status", {"status": {"certificate": "YQ=="}})
    assert given.document["status"]["certificate"] == "YQ=="
    again = await api.ask("PATCH", f"{path}/status", {"status": {"certificate": "Yg=="}})
    assert again.status == 422


async def test_what_is_requested_does_not_change(api: Api) -> None:
    await a_request(api)
    changed = await api.ask("PATCH", f"{REQUESTS}/a", {"spec": {"signerName": "other.b/c"}})
    assert changed.document["spec"]["signerName"] == "a.b/c"


async def test_the_server_records_who_asks_whatever_the_client_says(api: Api) -> None:
    spec = {
        "request": encoded_request(),
        "signerName": "a.b/c",
        "usages": ["client auth"],
        "username": "root",
        "uid": "0",
        "groups": ["kings"],
        "extra": {"crown": ["gold"]},
    }
    made = await api.ask("POST", REQUESTS, {"metadata": {"name": "a"}, "spec": spec})
    recorded = made.document["spec"]
    assert recorded["username"] == "admin"
    assert recorded["groups"] == ["system:masters", "system:authenticated"]
    assert not recorded.keys() & {"uid", "extra"}


async def allow_everywhere(api: Api, user: str, *rules: Document) -> None:
    role = {"metadata": {"name": user}, "rules": list(rules)}
    assert (await api.ask("POST", f"{RBAC}/clusterroles", role)).status == 201
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
    assert (await api.ask("POST", f"{RBAC}/clusterrolebindings", binding)).status == 201


@pytest.mark.parametrize(("part", "verb"), [("approval", "approve"), ("status", "sign")])
@pytest.mark.parametrize("named", ["a.b/c", "a.b/*"])
async def test_a_user_decides_about_requests_of_signers_that_a_role_names(
    part: str, verb: str, named: str
) -> None:
    condition = APPROVED if part == "approval" else FAILED
    group = "certificates.k8s.io"
    write = {
        "apiGroups": [group],
        "resources": [f"certificatesigningrequests/{part}"],
        "verbs": ["patch"],
    }
    other = {"apiGroups": [group], "resources": ["signers"], "verbs": [verb]}
    async with guarded() as api:
        await a_request(api)
        await allow_everywhere(api, "ann", write, other | {"resourceNames": ["a.b/d", "b/*"]})
        refused = await written(a_person(api, "ann"), part, condition)
        assert refused.status == 403
        said = f'user not permitted to {verb} requests with signerName "a.b/c"'
        assert said in refused.document["message"]
        await allow_everywhere(api, "bob", write, other | {"resourceNames": [named]})
        assert (await written(a_person(api, "bob"), part, condition)).status == 200
