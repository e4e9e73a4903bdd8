"""A server on a real loopback port, and a client that writes its bytes by hand."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from plimsoll.apiserver.access.authorizer import DEFAULT_MODES, AuthorizationMode
from plimsoll.apiserver.admission.chain import FINISHED_BY_CONTROLLERS, PluginChoice
from plimsoll.apiserver.main import ApiServerSettings, ServingSockets, serving

ANSWER_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Line:
    """One open connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        """The next answer that has a length: status, headers, body."""
        async with asyncio.timeout(ANSWER_SECONDS):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            first, *rest = head.strip().split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (x.partition(":") for x in rest)
            }
            body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return int(first.split()[1]), headers, body

    async def status(self) -> int:
        return (await self.answer())[0]

    async def rest(self) -> bytes:
        """Everything until the server hangs up."""
        async with asyncio.timeout(ANSWER_SECONDS):
            try:
                return await self.reader.read()
            except (ConnectionResetError, ssl.SSLError):
                return b""


class Socket:
    def __init__(self, up: ServingSockets) -> None:
        self.up = up
        self.token = up.credentials.admin_token

    def tls(self, *, with_certificate: bool = False) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.up.credentials.authority)
        if with_certificate:
            credentials = self.up.credentials
            context.load_cert_chain(credentials.admin_certificate, credentials.admin_key)
        return context

    @asynccontextmanager
    async def connect(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[Line]:
        address = urlsplit(self.up.url)
        reader, writer = await asyncio.open_connection(
            address.hostname, address.port, ssl=tls or self.tls()
        )
        try:
            yield Line(reader, writer)
        finally:
            writer.transport.abort()

    def request(self, method: str, target: str, body: object = None, *more: str) -> bytes:
        """The administrator's request, with any further header lines."""
        content = b"" if body is None else msgspec.json.encode(body)
        lines = [
            f"{method} {target} HTTP/1.1",
            "Host: localhost",
            f"Authorization: Bearer {self.token}",
            "Content-Type: application/json",
            *([f"Content-Length: {len(content)}"] if body is not None else []),
            *more,
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


@asynccontextmanager
async def listening(
    directory: Path, modes: tuple[AuthorizationMode, ...] = DEFAULT_MODES
) -> AsyncIterator[Socket]:
    settings = ApiServerSettings(
        data_dir=directory / "data",
        admission_plugins=PluginChoice(disabled=FINISHED_BY_CONTROLLERS),
        authorization_modes=modes,
    )
    async with serving(settings) as up:
        yield Socket(up)
