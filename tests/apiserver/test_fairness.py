"""One user floods the server with long lists; others are answered as if it were not there."""

import asyncio
import ssl
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from plimsoll.apiserver.access.authorizer import AuthorizationMode
from plimsoll.apiserver.http import connections
from tests.apiserver.api import MAPS, Api
from tests.apiserver.sockets import Line, Socket, listening

ALL_USERS = (AuthorizationMode.ALWAYS_ALLOW,)
OBJECTS = 3000
FLOOD = 40
QUESTIONS = 60
SHARE = 3
"""How many times as long as others the user waits who floods the server, at the least. Without
seats all wait alike."""


def certificate_of(server: Socket, name: str, directory: Path) -> ssl.SSLContext:
    """What makes a client the user of this name, who is no administrator."""
    pki = server.up.credentials.authority.parent
    authority = x509.load_pem_x509_certificate((pki / "ca.crt").read_bytes())
    signer = serialization.load_pem_private_key((pki / "ca.key").read_bytes(), None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .sign(signer, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = directory / f"{name}.pem"
    path.write_bytes(private + made.public_bytes(pem))
    context = server.tls()
    context.load_cert_chain(path)
    return context


@asynccontextmanager
async def a_full_server(directory: Path) -> AsyncIterator[Socket]:
    async with listening(directory, ALL_USERS) as server:
        api = Api(server.up.server)
        await asyncio.gather(*(api.create(f"m-{number}", "x" * 500) for number in range(OBJECTS)))
        yield server


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


async def flood(line: Line, waited: list[float]) -> None:
    """The same long list again and again, as fast as it comes; `waited` gets the seconds of each
    that came."""
    while True:
        began = time.monotonic()
        await line.send(get(MAPS))
        head = await line.reader.readuntil(b"\r\n\r\n")
        if b"chunked" in head:
            while not (await line.reader.read(1 << 16)).endswith(b"0\r\n\r\n"):
                pass
            waited.append(time.monotonic() - began)
        else:  # told to come again
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            await line.reader.readexactly(length)
            await asyncio.sleep(0.05)


async def seconds_for(line: Line, path: str) -> list[float]:
    taken = []
    for _ in range(QUESTIONS):
        began = time.monotonic()
        await line.send(get(path))
        assert await line.status() == 200
        taken.append(time.monotonic() - began)
        await asyncio.sleep(0.01)
    return taken


async def test_a_flood_of_long_lists_keeps_others_from_nothing(tmp_path: Path) -> None:
    async with a_full_server(tmp_path) as server, AsyncExitStack() as open_lines:
        many, other = (certificate_of(server, name, tmp_path) for name in ("flood", "other"))
        waited: list[float] = []
        lines = [await open_lines.enter_async_context(server.connect(many)) for _ in range(FLOOD)]
        flooding = [asyncio.ensure_future(flood(each, waited)) for each in lines]
        line = await open_lines.enter_async_context(server.connect(other))
        stranger = await open_lines.enter_async_context(server.connect())
        await asyncio.sleep(0.5)

        answered = await seconds_for(line, f"{MAPS}/m-1")
        lived = await seconds_for(stranger, "/livez")

        seats = server.up.server.seats["global-default"]
        assert seats.dispatched > QUESTIONS
        usual = statistics.median(waited)
        assert SHARE * statistics.median(answered) < usual
        assert SHARE * statistics.median(lived) < usual
        for task in flooding:
            task.cancel()
        await asyncio.gather(*flooding, return_exceptions=True)


async def test_one_user_cannot_have_all_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections.ConnectionLimits.__init__, "__defaults__", (100, 100, 3))
    async with listening(tmp_path, ALL_USERS) as server, AsyncExitStack() as open_lines:
        many, other = (certificate_of(server, name, tmp_path) for name in ("many", "other"))
        answers = []
        for _ in range(5):
            line = await open_lines.enter_async_context(server.connect(many))
            await line.send(get(f"{MAPS}/kube-root-ca.crt"))
            answers.append((await line.answer())[:2])
        last = await open_lines.enter_async_context(server.connect(other))
        await last.send(get(MAPS))

        assert [code for code, _ in answers][3:] == [429, 429]
        assert answers[4][1]["connection"] == "close"
        assert answers[4][1]["retry-after"] == "1"
        assert await last.status() == 200
