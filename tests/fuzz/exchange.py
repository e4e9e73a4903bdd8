"""Sends one request over a real connection and holds the answer to what every answer owes."""

import contextlib
import gzip
import http.client
import json
import socket
from dataclasses import dataclass, field
from typing import Any

import yaml

from plimsoll.apiserver.model import protobuf
from tests.servers import Endpoint

SECONDS = 20
PROTOBUF = "application/vnd.kubernetes.protobuf"
READ_LIMIT = 1 << 26
# What the real server says, in plain text, where no API begins.
NO_SUCH_PLACE = b"404 page not found\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A request, as wild as it may be, but well-formed HTTP."""

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    code: int
    media_type: str
    body: bytes

    def document(self) -> Any:
        if self.media_type == PROTOBUF:
            return protobuf.decode(self.body)
        is_yaml = self.media_type == "application/yaml"
        return yaml.safe_load(self.body) if is_yaml else json.loads(self.body)


class Exchange:
    """One connection, opened again whenever the server closes it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._context = endpoint.context()
        self._connection: http.client.HTTPSConnection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def send(self, probe: Probe) -> Reply:
        """The answer. A server that hangs or hangs up in the middle raises."""
        reused = self._connection is not None
        try:
            return self._send_once(probe)
        except (http.client.RemoteDisconnected, ConnectionError, BrokenPipeError):
            # An idle connection may end at any time; a fresh one owes an answer.
            self.close()
            if not reused:
                raise
            return self._send_once(probe)

    def _send_once(self, probe: Probe) -> Reply:
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(
                self._endpoint.host, self._endpoint.port, timeout=SECONDS, context=self._context
            )
        headers = {"Authorization": f"Bearer {self._endpoint.token}", **probe.headers}
        self._connection.request(probe.method, probe.path, body=probe.body, headers=headers)
        response = self._connection.getresponse()
        media_type = (response.getheader("Content-Type") or "").partition(";")[0]
        if "watch" in probe.path and response.status == http.client.OK:
            # A watch goes on for as long as it likes: that it was accepted is all we ask.
            response.close()
            self.close()
            return Reply(response.status, media_type, b"")
        body = response.read(READ_LIMIT)
        if response.getheader("Content-Encoding") == "gzip" and body:
            body = gzip.decompress(body)
        if response.will_close:
            self.close()
        return Reply(response.status, media_type, body)


def assert_civil(probe: Probe, reply: Reply) -> None:
    """No answer blames the server, and every refusal is a Status that says so in all its fields."""
    if reply.code < 400:
        return
    told = f"{probe} answered {reply.code}: {reply.body[:500]!r}"
    if reply.code == http.client.GATEWAY_TIMEOUT and "resourceVersion" in probe.path:
        return  # a version of the future: the client is to try again later
    assert reply.code < 500, told
    if probe.method == "HEAD" or reply.body == NO_SUCH_PLACE:
        return
    asked = probe.headers.get("Accept", "")
    assert reply.media_type == "application/json" or reply.media_type in asked, told
    status = reply.document()
    assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", reply.code)
    assert status["message"], told


def raw_exchange(endpoint: Endpoint, *parts: bytes, seconds: float = SECONDS) -> bytes:
    """Bytes in, bytes out, over TLS; an empty answer means that the server hung up."""
    plain = socket.create_connection((endpoint.host, endpoint.port), timeout=seconds)
    answer = b""
    with plain, endpoint.context().wrap_socket(plain, server_hostname=endpoint.host) as connection:
        with contextlib.suppress(ConnectionError, BrokenPipeError, OSError):
            for part in parts:
                connection.sendall(part)
        with contextlib.suppress(ConnectionError):
            while b"\r\n\r\n" not in answer:
                data = connection.recv(65536)
                if not data:
                    break
                answer += data
    return answer
