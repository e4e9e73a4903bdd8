"""What the server tells about itself."""

import msgspec
import pytest

from plimsoll.wire.transport import Request
from tests.apiserver.api import Api

ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
ANSWERED = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


@pytest.mark.parametrize("accept", ["", "*/*", "application/json"])
async def test_older_clients_get_one_document_for_everything(api: Api, accept: str) -> None:
    headers = {"accept": accept} if accept else {}
    request = Request(method="GET", path="/openapi/v2", headers=headers)
    response = await api.transport.request(request)
    assert (response.status, response.headers["content-type"]) == (200, "application/json")
    assert msgspec.json.decode(response.body)["swagger"] == "2.0"


async def test_clients_that_ask_for_protobuf_get_it(api: Api) -> None:
    request = Request(method="GET", path="/openapi/v2", headers={"accept": ASKED})
    response = await api.transport.request(request)
    assert (response.status, response.headers["content-type"]) == (200, ANSWERED)
    assert response.body.startswith(b"\n\x032.0")


async def test_discovery_can_be_had_in_yaml(api: Api) -> None:
    request = Request(method="GET", path="/api/v1", headers={"accept": "application/yaml"})
    response = await api.transport.request(request)
    assert response.headers["content-type"] == "application/yaml"
    assert b"kind: APIResourceList" in response.body
