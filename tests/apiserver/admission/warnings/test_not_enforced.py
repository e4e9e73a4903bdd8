"""The server answers with a warning where a policy is only stored and not enforced."""

from pathlib import Path

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.warnings.not_enforced import KINDS, POD_FIELDS, START
from plimsoll.wire.transport import Request
from tests.apiserver.api import MAPS, Api

PODS = "/api/v1/namespaces/default/pods"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
DIFFERENCES = Path(__file__).parents[4] / "docs" / "reference" / "differences.md"
PORT = {"containerPort": 1, "hostPort": 1}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
        ]
    }
}


def a_pod(**spec: object) -> Document:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": "a"}, "spec": {"containers": containers} | spec}


async def test_a_role_that_is_written_is_warned_of(api: Api) -> None:
    reply = await api.ask("POST", ROLES, {"metadata": {"name": "a"}})
    assert reply.status == 201
    assert "roles are not consulted" in reply.warnings[0]


async def test_a_change_of_its_labels_is_not(api: Api) -> None:
    await api.ask("POST", ROLES, {"metadata": {"name": "a"}})
    reply = await api.ask("PATCH", f"{ROLES}/a", {"metadata": {"labels": {"a": "b"}}})
    assert (reply.status, reply.warnings) == (200, ())


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"affinity": APART}, "spec.affinity.podAntiAffinity"),
        ({"containers": [{"name": "c", "image": "i", "ports": [PORT]}]}, "hostPort"),
    ],
)
async def test_a_pod_says_which_of_its_wishes_the_scheduler_does_not_know(
    api: Api, spec: Document, field: str
) -> None:
    reply = await api.ask("POST", PODS, a_pod(**spec))
    assert reply.status == 201
    assert START in reply.warnings[0]
    assert field in reply.warnings[0]


async def test_a_template_is_warned_of_like_a_pod(api: Api) -> None:
    labels = {"app": "a"}
    template = a_pod(affinity=APART) | {"metadata": {"labels": labels}}
    deployment = {
        "metadata": {"name": "a"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    reply = await api.ask("POST", DEPLOYMENTS, deployment)
    assert "spec.template.spec.affinity.podAntiAffinity" in reply.warnings[0]


async def test_a_quota_says_which_limits_are_not_kept(api: Api) -> None:
    quota = {"metadata": {"name": "a"}, "spec": {"hard": {"pods": "1", "requests.cpu": "1"}}}
    reply = await api.ask("POST", QUOTAS, quota)
    assert "requests.cpu" in reply.warnings[0]
    assert "hard[pods]" not in reply.warnings[0]


async def test_what_needs_no_warning_gets_none(api: Api) -> None:
    assert (await api.create("a")).warnings == ()
    assert (await api.ask("POST", PODS, a_pod())).warnings == ()


async def test_impersonation_is_ignored_and_said_to_be(api: Api) -> None:
    request = Request(method="GET", path=MAPS, headers={"impersonate-user": "bob"})
    response = await api.transport.request(request)
    assert response.status == 200
    assert "--as" in response.headers["warning"]


def test_the_page_names_everything_that_is_warned_of() -> None:
    page = DIFFERENCES.read_text()
    kinds = {kind.removesuffix("Binding") for _, kind in KINDS}
    fields = {field for field in POD_FIELDS if "[" not in field}
    assert [name for name in sorted(kinds | fields) if name not in page] == []
