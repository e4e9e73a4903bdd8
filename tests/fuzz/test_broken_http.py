"""What is not even HTTP, or far too much of it: refused or cut off, unnoticed by others."""

import json
import socket
import time

import pytest
from hypothesis import given, settings, strategies as st

from tests.fuzz.exchange import Exchange, Probe, raw_exchange
from tests.servers import Endpoint

QUICK = settings(settings.get_profile("fuzz"), max_examples=150)
HEAD = b"GET /version HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\n"


def is_refused(answer: bytes) -> bool:
    """The server said 4xx, or hung up without a word."""
    return not answer or answer.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(b"\x00" * 100 + b"\r\n\r\n", id="zero-bytes"),
        pytest.param(b"GET\r\n\r\n", id="no-path"),
        pytest.param(b"GET / HTTP/9.9\r\n\r\n", id="version-of-the-future"),
        pytest.param(b"G\xc3\x8bT / HTTP/1.1\r\n\r\n", id="method-beyond-ascii"),
        pytest.param(b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n", id="zero-byte-in-path"),
        pytest.param(HEAD + b"no colon here\r\n\r\n", id="header-without-colon"),
        pytest.param(HEAD + b": empty\r\n\r\n", id="header-without-name"),
        pytest.param(HEAD + b"X: a\x00b\r\n\r\n", id="zero-byte-in-header"),
        pytest.param(POST + b"Content-Length: x\r\n\r\n", id="length-is-no-number"),
        pytest.param(POST + b"Content-Length: -5\r\n\r\n", id="length-below-zero"),
        pytest.param(
            POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", id="two-lengths"
        ),
        pytest.param(
            POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            id="length-and-chunks",
        ),
        pytest.param(
            POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n", id="bad-chunk"
        ),
        pytest.param(
            POST + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", id="huge-chunk"
        ),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="http-2-preface"),
    ],
)
def test_broken_requests_are_refused(request_bytes: bytes, endpoint: Endpoint) -> None:
    assert is_refused(raw_exchange(endpoint, request_bytes))


@QUICK
@given(data=st.binary(max_size=300).filter(lambda data: data.strip(b"\r\n")))
def test_random_bytes_are_refused(data: bytes, endpoint: Endpoint) -> None:
    assert is_refused(raw_exchange(endpoint, data + b"\r\n\r\n"))


def test_a_client_that_speaks_no_tls_is_hung_up_on(endpoint: Endpoint) -> None:
    with socket.create_connection((endpoint.host, endpoint.port), timeout=20) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert not plain.recv(100).startswith(b"HTTP/1.1 2")


@pytest.mark.parametrize(
    "flood",
    [
        pytest.param(b"".join(b"X-%d: y\r\n" % i for i in range(20_000)), id="many-headers"),
        pytest.param(b"X: " + b"y" * (2 << 20) + b"\r\n", id="one-long-header"),
    ],
)
def test_a_flood_of_headers_is_refused(flood: bytes, endpoint: Endpoint) -> None:
    answer = raw_exchange(endpoint, HEAD + flood + b"\r\n")
    assert not answer or answer.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))


def test_a_long_address_is_refused(endpoint: Endpoint) -> None:
    answer = raw_exchange(endpoint, b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    assert is_refused(answer)


def test_a_body_beyond_the_limit_is_refused(exchange: Exchange) -> None:
    document = {"metadata": {"name": "large"}, "data": {"text": "x" * (4 << 20)}}
    headers = {"Content-Type": "application/json"}
    path = "/api/v1/namespaces/default/configmaps"
    body = json.dumps(document).encode()
    reply = exchange.send(Probe(method="POST", path=path, headers=headers, body=body))
    assert reply.code == 413
    assert reply.document()["reason"] == "RequestEntityTooLarge"


def test_an_endless_body_is_cut_off(endpoint: Endpoint) -> None:
    head = (
        f"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {endpoint.token}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    ).encode()
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    answer = raw_exchange(endpoint, head, *([chunk] * 400))
    assert not answer or answer.startswith(b"HTTP/1.1 413")


def test_slow_and_silent_clients_hold_up_no_other(endpoint: Endpoint, exchange: Exchange) -> None:
    context = endpoint.context()
    idle = []
    try:
        for _ in range(50):
            plain = socket.create_connection((endpoint.host, endpoint.port), timeout=20)
            slow = context.wrap_socket(plain, server_hostname=endpoint.host)
            slow.sendall(HEAD)  # and never the empty line that ends it
            idle.append(slow)
        began = time.monotonic()
        assert exchange.send(Probe(method="GET", path="/version")).code == 200
        assert time.monotonic() - began < 2
    finally:
        for slow in idle:
            slow.close()


def test_requests_one_behind_the_other_are_answered_in_order(endpoint: Endpoint) -> None:
    answer = raw_exchange(
        endpoint, HEAD + b"\r\n" + b"GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 200")
