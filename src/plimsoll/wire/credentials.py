"""The identity that we show an API server over HTTP, and how it is kept fresh.

Tokens rotate and plugins hand out credentials that expire. A source of credentials is asked
before every request, answers from memory while it may, and is told when the server did not
accept what it gave.
"""

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

import msgspec

from plimsoll.runtime.clock import Clock
from plimsoll.wire.errors import Failure, KubeError

TOKEN_FILE_AGE = timedelta(minutes=1)
PLUGIN_TIMEOUT = timedelta(minutes=1)
# Requests that were refused together do not each run the plugin again.
PLUGIN_REST = timedelta(seconds=5)
EXPIRY_MARGIN = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    certificate: bytes
    """PEM, the chain included."""
    key: bytes

    def __repr__(self) -> str:
        return "ClientCertificate(…)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What goes with a request."""

    authorization: str = ""
    """The value of the header of that name; empty for none."""
    certificate: ClientCertificate | None = None

    def __repr__(self) -> str:
        return "Identity(…)"


class Credentials(Protocol):
    async def identity(self) -> Identity: ...

    async def refused(self) -> bool:
        """The server answered 401. True when the next identity may be a better one."""
        ...


class FixedCredentials:
    """A token, a password or a certificate that never changes, or nothing at all."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    async def identity(self) -> Identity:
        return self._identity

    async def refused(self) -> bool:
        return False


def bearer(token: str) -> str:
    return f"Bearer {token}"


def basic(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


class TokenFile:
    """A token that another program rotates in place, as kubelet does for service accounts."""

    def __init__(
        self, path: Path, clock: Clock, certificate: ClientCertificate | None = None
    ) -> None:
        self._path = path
        self._clock = clock
        self._certificate = certificate
        self._token = ""
        self._read_at: float | None = None

    async def identity(self) -> Identity:
        now = self._clock.monotonic()
        if self._read_at is None or now - self._read_at >= TOKEN_FILE_AGE.total_seconds():
            self._read(now)
        return Identity(authorization=bearer(self._token), certificate=self._certificate)

    async def refused(self) -> bool:
        before = self._token
        self._read(self._clock.monotonic())
        return self._token != before

    def _read(self, now: float) -> None:
        try:
            # A few hundred bytes, once a minute: not worth a thread.
            token = self._path.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            if self._token:
                return  # being replaced at this moment; the old one is still good
            raise KubeError(
                Failure.UNAUTHORIZED, f"token file {self._path} cannot be read: {error}"
            ) from error
        if not token:
            raise KubeError(Failure.UNAUTHORIZED, f"token file {self._path} is empty")
        self._token, self._read_at = token, now


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSpec:
    """The `exec` part of a kubeconfig user."""

    api_version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str]
    """The whole environment of the plugin, ours included."""
    install_hint: str = ""
    cluster: Mapping[str, object] | None = None
    """What the plugin is told about the cluster, if it wants to know."""

    def __repr__(self) -> str:
        return f"PluginSpec({self.command})"


class _PluginStatus(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None

    def __repr__(self) -> str:
        return "_PluginStatus(…)"

    def identity(self) -> Identity:
        certificate = None
        if self.client_certificate_data:
            certificate = ClientCertificate(
                self.client_certificate_data.encode(), self.client_key_data.encode()
            )
        return Identity(
            authorization=bearer(self.token) if self.token else "", certificate=certificate
        )


class _PluginAnswer(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    status: _PluginStatus | None = None


class PluginCredentials:
    """Credentials from a command that prints an ExecCredential."""

    def __init__(self, spec: PluginSpec, clock: Clock) -> None:
        self._spec = spec
        self._clock = clock
        self._status: _PluginStatus | None = None
        self._ran_at = 0.0
        self._running = asyncio.Lock()  # many requests wait for one run of the plugin

    async def identity(self) -> Identity:
        async with self._running:
            if self._status is None or self._is_expired(self._status):
                self._status = await self._run()
            return self._status.identity()

    async def refused(self) -> bool:
        async with self._running:
            age = self._clock.monotonic() - self._ran_at
            if self._status is None or age >= PLUGIN_REST.total_seconds():
                self._status = await self._run()
            return True

    def _is_expired(self, status: _PluginStatus) -> bool:
        expires_at = status.expiration_timestamp
        return expires_at is not None and self._clock.now() >= expires_at - EXPIRY_MARGIN

    async def _run(self) -> _PluginStatus:
        self._ran_at = self._clock.monotonic()
        output = await self._output()
        try:
            answer = msgspec.json.decode(output, type=_PluginAnswer)
        except msgspec.DecodeError as error:
            raise self._failed(f"printed no ExecCredential: {error}") from error
        if answer.api_version != self._spec.api_version:
            raise self._failed(f"answered in {answer.api_version}, not {self._spec.api_version}")
        status = answer.status
        if status is None or not (status.token or status.client_certificate_data):
            raise self._failed("gave neither a token nor a client certificate")
        return status

    async def _output(self) -> bytes:
        try:
            process = await asyncio.create_subprocess_exec(
                self._spec.command,
                *self._spec.arguments,
                env=dict(self._spec.environment) | {"KUBERNETES_EXEC_INFO": self._info()},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise self._failed(f"could not be started: {error.strerror}") from error
        try:
            async with self._clock.timeout(PLUGIN_TIMEOUT):
                output, complaints = await process.communicate()
        except TimeoutError as error:
            process.kill()
            await process.wait()
            raise self._failed(f"did not end within {PLUGIN_TIMEOUT}") from error
        if process.returncode != 0:
            said = complaints.decode(errors="replace").strip()[-500:]
            raise self._failed(f"ended with exit code {process.returncode}: {said}")
        return output

    def _info(self) -> str:
        spec: dict[str, object] = {"interactive": False}
        if self._spec.cluster is not None:
            spec["cluster"] = self._spec.cluster
        info = {"apiVersion": self._spec.api_version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(info).decode()

    def _failed(self, problem: str) -> KubeError:
        hint = f" ({self._spec.install_hint.strip()})" if self._spec.install_hint else ""
        message = f"credential plugin {self._spec.command} {problem}{hint}"
        return KubeError(Failure.UNAUTHORIZED, message)
