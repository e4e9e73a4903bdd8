"""The HTTP transport against a real server on loopback."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from plimsoll.runtime.clock import SteppedClock
from plimsoll.wire.access import Access
from plimsoll.wire.credentials import (
    ClientCertificate,
    Credentials,
    FixedCredentials,
    Identity,
    TokenFile,
    bearer,
)
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.http import HttpTransport
from plimsoll.wire.transport import Request
from tests.wire.authority import Authority

GET = Request(method="GET", path="/api/v1/nodes", headers={"accept": "application/json"})
POST = Request(method="POST", path="/api/v1/nodes", body=b"{}")
ANONYMOUS = FixedCredentials(Identity())


@asynccontextmanager
async def serving(
    handler: Callable[[web.BaseRequest], object], tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        answer = handler(request)
        if asyncio.iscoroutine(answer):
            answer = await answer
        assert isinstance(answer, web.StreamResponse)
        return answer

    runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    _, port = runner.addresses[0]
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


def access(server: str, credentials: Credentials = ANONYMOUS, **more: object) -> Access:
    return Access(source="test", server=server, credentials=credentials, **more)  # type: ignore[arg-type] # a shorthand


async def test_a_request_arrives_as_it_was_made_and_so_does_its_answer() -> None:
    seen: list[web.BaseRequest] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        seen.append(request)
        return web.Response(status=201, body=await request.read(), headers={"X-Kind": "Node"})

    request = Request(
        method="POST",
        path="/api/v1/nodes/a%2Fb",
        query=(("labelSelector", "a in (b,c)"),),
        headers={"content-type": "application/json"},
        body=b'{"a":1}',
    )
    async with serving(handler) as url, HttpTransport(access(url), user_agent="me") as transport:
        response = await transport.request(request)
    assert response.status == 201
    assert response.body == b'{"a":1}'
    assert response.headers["x-kind"] == "Node"
    assert seen[0].raw_path == "/api/v1/nodes/a%2Fb?labelSelector=a+in+%28b%2Cc%29"
    assert seen[0].headers["User-Agent"] == "me"
    assert "gzip" not in seen[0].headers.get("Accept-Encoding", "")
    assert "Authorization" not in seen[0].headers


async def test_connections_are_reused() -> None:
    ports: set[int] = set()

    def handler(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        ports.add(request.transport.get_extra_info("peername")[1])
        return web.Response()

    async with serving(handler) as url, HttpTransport(access(url)) as transport:
        for _ in range(5):
            await transport.request(GET)
    assert len(ports) == 1


async def test_refusals_are_answers_and_redirects_are_not_followed() -> None:
    def handler(_: web.BaseRequest) -> web.Response:
        return web.Response(status=302, headers={"Location": "http://elsewhere.invalid/"})

    async with serving(handler) as url, HttpTransport(access(url)) as transport:
        assert (await transport.request(GET)).status == 302


async def test_a_server_that_is_not_there_cannot_have_done_anything() -> None:
    async with serving(lambda _: web.Response()) as url:
        pass
    async with HttpTransport(access(url)) as transport:
        with pytest.raises(KubeError) as caught:
            await transport.request(POST)
        assert caught.value.failure is Failure.UNAVAILABLE
        assert caught.value.is_certain
        with pytest.raises(KubeError) as caught:
            async with transport.stream(GET):
                pass
    assert caught.value.failure is Failure.UNAVAILABLE
    assert str(caught.value) == (
        f"GET /api/v1/nodes: {url} (test): cannot connect: connection refused, no program listens"
        " there"
    )


async def test_a_connection_that_breaks_after_a_write_leaves_its_outcome_unknown() -> None:
    def handler(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    async with serving(handler) as url, HttpTransport(access(url)) as transport:
        with pytest.raises(KubeError) as caught:
            await transport.request(POST)
    assert caught.value.failure is Failure.UNKNOWN_OUTCOME


async def test_a_write_that_is_not_answered_in_time_leaves_its_outcome_unknown() -> None:
    async def handler(_: web.BaseRequest) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    request = Request(method="POST", path="/x", timeout=timedelta(milliseconds=50))
    async with serving(handler) as url, HttpTransport(access(url)) as transport:
        with pytest.raises(KubeError) as caught:
            await transport.request(request)
    assert caught.value.failure is Failure.UNKNOWN_OUTCOME


async def test_a_stream_is_cut_into_lines_however_it_arrives() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in (b'{"a"', b":1}\n{", b'"b":2}\n\n{"c":3}\n'):
            await response.write(chunk)
            await asyncio.sleep(0.01)
        return response

    async with (
        serving(handler) as url,
        HttpTransport(access(url)) as transport,
        transport.stream(GET) as response,
    ):
        assert [line async for line in response.lines] == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


async def test_a_stream_that_breaks_is_an_error_after_the_lines_that_came() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(b'{"a":1}\n')
        await asyncio.sleep(0.01)
        assert request.transport is not None
        request.transport.close()
        return response

    lines: list[bytes] = []
    async with (
        serving(handler) as url,
        HttpTransport(access(url)) as transport,
        transport.stream(GET) as response,
    ):
        lines.append(await anext(response.lines))
        with pytest.raises(KubeError):
            await anext(response.lines)
    assert lines == [b'{"a":1}']


async def test_a_refused_stream_says_why() -> None:
    async with (
        serving(lambda _: web.Response(status=410, text="too old")) as url,
        HttpTransport(access(url)) as transport,
        transport.stream(GET) as response,
    ):
        assert (response.status, response.body) == (410, b"too old")
        assert [line async for line in response.lines] == []


async def test_leaving_a_stream_closes_its_connection() -> None:
    closed = asyncio.Event()

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{}\n")
        try:
            while True:
                await asyncio.sleep(0.005)
                await response.write(b"{}\n")
        except ConnectionError:
            closed.set()
            raise

    async with serving(handler) as url, HttpTransport(access(url)) as transport:
        async with transport.stream(GET) as response:
            await anext(response.lines)
        await asyncio.wait_for(closed.wait(), 5)


async def test_a_rotated_token_is_read_again_when_the_server_refuses_the_old_one(
    tmp_path: Path,
) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")
    valid = ["old"]

    def handler(request: web.BaseRequest) -> web.Response:
        is_valid = request.headers.get("Authorization") == f"Bearer {valid[0]}"
        return web.Response(status=200 if is_valid else 401, text="{}\n")

    credentials = TokenFile(token, SteppedClock())
    async with serving(handler) as url, HttpTransport(access(url, credentials)) as transport:
        assert (await transport.request(GET)).status == 200
        valid[0] = "new"
        assert (await transport.request(GET)).status == 401, "the file is still the old one"
        token.write_text("new\n")
        assert (await transport.request(POST)).status == 200
        valid[0] = "newer"
        token.write_text("newer")
        async with transport.stream(GET) as response:
            assert response.status == 200


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def server_tls(authority: Authority, tmp_path: Path) -> ssl.SSLContext:
    pair = authority.issue("server")
    chain, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    chain.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.pem.decode())
    context.load_cert_chain(chain, key)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def who(request: web.BaseRequest) -> web.Response:
    assert request.transport is not None
    peer = request.transport.get_extra_info("peercert")
    names = [value for parts in peer.get("subject", ()) for _, value in parts] if peer else []
    return web.Response(text=",".join(names) or request.headers.get("Authorization", ""))


async def test_the_server_must_show_a_certificate_of_the_authority(
    authority: Authority, server_tls: ssl.SSLContext
) -> None:
    token = FixedCredentials(Identity(authorization=bearer("t")))
    async with serving(who, server_tls) as url:
        async with HttpTransport(access(url, token, authority=authority.pem)) as transport:
            assert (await transport.request(GET)).body == b"Bearer t"
        async with HttpTransport(access(url, token, authority=Authority().pem)) as transport:
            with pytest.raises(KubeError) as caught:
                await transport.request(GET)
            assert caught.value.failure is Failure.UNAVAILABLE
        async with HttpTransport(access(url, token, verifies_server=False)) as transport:
            assert (await transport.request(GET)).status == 200
        async with HttpTransport(
            access(url, token, authority=authority.pem, server_name="somebody-else")
        ) as transport:
            with pytest.raises(KubeError):
                await transport.request(GET)


async def test_a_client_certificate_is_presented(
    authority: Authority, server_tls: ssl.SSLContext
) -> None:
    pair = authority.issue("admin")
    identity = Identity(certificate=ClientCertificate(pair.certificate, pair.key))
    async with (
        serving(who, server_tls) as url,
        HttpTransport(
            access(url, FixedCredentials(identity), authority=authority.pem)
        ) as transport,
    ):
        assert (await transport.request(GET)).body == b"admin"
        async with transport.stream(GET) as response:
            assert response.status == 200


def test_a_broken_authority_is_said_to_be_broken() -> None:
    with pytest.raises(ValueError, match="test: a certificate or key cannot be used"):
        HttpTransport(access("https://127.0.0.1:1", authority=b"not pem"))


def test_credentials_do_not_show_themselves() -> None:
    identity = Identity(
        authorization=bearer("s3cret"), certificate=ClientCertificate(b"c", b"s3cret")
    )
    assert "s3cret" not in repr(identity) + repr(identity.certificate)
