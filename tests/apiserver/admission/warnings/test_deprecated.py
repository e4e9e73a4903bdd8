"""Clients are told of kinds that Kubernetes advises against, whatever they do with them."""

import pytest

from tests.apiserver.api import MAPS, Api

ENDPOINTS = "/api/v1/namespaces/default/endpoints"
ADVICE = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", ENDPOINTS, 200, id="a-list"),
        pytest.param("GET", f"{ENDPOINTS}/a", 200, id="one"),
        pytest.param("DELETE", f"{ENDPOINTS}/a", 200, id="a-deletion"),
        pytest.param("GET", f"{ENDPOINTS}/nosuch", 404, id="a-refusal"),
    ],
)
async def test_every_answer_about_endpoints_advises_against_them(
    api: Api, method: str, path: str, status: int
) -> None:
    made = await api.ask("POST", ENDPOINTS, {"metadata": {"name": "a"}})
    assert (made.status, made.warnings) == (201, (ADVICE,))
    reply = await api.ask(method, path)
    assert (reply.status, reply.warnings) == (status, (ADVICE,))


async def test_component_statuses_are_deprecated_too(api: Api) -> None:
    reply = await api.ask("GET", "/api/v1/componentstatuses")
    assert reply.warnings == ('299 - "v1 ComponentStatus is deprecated in v1.19+"',)


async def test_other_kinds_are_not_advised_against(api: Api) -> None:
    assert (await api.ask("GET", MAPS)).warnings == ()
