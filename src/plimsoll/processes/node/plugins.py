"""How the node finds drivers: by sockets in a registration directory, or given by its starter.

A registration directory works as kubelet's does: every socket in it is asked which driver it is,
and told how its registration went. So drivers of other vendors, with the real
node-driver-registrar, can be used.
"""

import asyncio
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from plimsoll.decide.node.registration import PLUGIN_TYPE
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.gen import pluginregistration_pb2 as registration
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.methods import NOTIFY_REGISTRATION_STATUS, REGISTRATION_INFO
from plimsoll.wire.csi.transport import CsiTransport, Permit, permit_always

ANSWER_WITHIN = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """What a plugin says of itself when it wants to register."""

    type: str
    name: str
    versions: tuple[str, ...]
    endpoint: str


class DriverPlugin(Protocol):
    async def introduce(self) -> Introduction:
        """Raises DriverError."""
        ...

    def connect(self, introduction: Introduction) -> CsiTransport:
        """To the driver itself."""
        ...

    async def notify(self, error: str) -> None:
        """Tell the plugin that it is registered, or, with a text, that it is not.

        Raises DriverError.
        """
        ...

    async def close(self) -> None: ...


class Plugins(Protocol):
    @property
    def look_every(self) -> timedelta:
        """How soon a plugin that comes or goes is noticed."""
        ...

    async def present(self) -> Mapping[str, str]:
        """The plugins that there are, by name; the value changes when one is replaced."""
        ...

    def open(self, name: str) -> DriverPlugin: ...


# Sockets


class RegistrationDirectory:
    """Implements Plugins."""

    look_every = timedelta(seconds=1)

    def __init__(self, path: Path) -> None:
        self._path = path

    async def present(self) -> Mapping[str, str]:
        return await asyncio.to_thread(self._sockets)

    def _sockets(self) -> Mapping[str, str]:
        """Below subdirectories as well: some drivers have one of their own."""
        found: dict[str, str] = {}
        for path in sorted(self._path.rglob("*")):
            if path.name.startswith("."):
                continue
            try:
                facts = path.lstat()
            except OSError:
                continue  # gone in this moment
            if stat.S_ISSOCK(facts.st_mode):
                found[str(path.relative_to(self._path))] = f"{facts.st_ino} {facts.st_ctime_ns}"
        return found

    def open(self, name: str) -> "SocketPlugin":
        return SocketPlugin(self._path / name)


class SocketPlugin:
    """Implements DriverPlugin."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._client = CsiClient(GrpcTransport(f"unix:{socket}"), within=ANSWER_WITHIN)

    async def introduce(self) -> Introduction:
        info = await self._client.call(REGISTRATION_INFO, registration.InfoRequest())
        return Introduction(
            type=info.type,
            name=info.name,
            versions=tuple(info.supported_versions),
            endpoint=info.endpoint or str(self._socket),
        )

    def connect(self, introduction: Introduction) -> CsiTransport:
        return GrpcTransport(address_of(introduction.endpoint))

    async def notify(self, error: str) -> None:
        status = registration.RegistrationStatus(plugin_registered=not error, error=error)
        await self._client.call(NOTIFY_REGISTRATION_STATUS, status)

    async def close(self) -> None:
        await self._client.close()


def address_of(endpoint: str) -> str:
    """Plugins name a path; `unix:///path` and addresses are taken as well."""
    return f"unix:{endpoint}" if endpoint.startswith("/") else endpoint


# Drivers that are handed in


class GivenDrivers:
    """Implements Plugins: drivers that are given by name when the node is started."""

    look_every = timedelta(minutes=1)
    """They neither come nor go."""

    def __init__(self, transports: Mapping[str, CsiTransport]) -> None:
        self._transports = dict(transports)

    async def present(self) -> Mapping[str, str]:
        return dict.fromkeys(self._transports, "")

    def open(self, name: str) -> "GivenPlugin":
        return GivenPlugin(name, self._transports[name])


class GivenPlugin:
    """Implements DriverPlugin; such a driver is not told about its registration."""

    def __init__(self, name: str, transport: CsiTransport) -> None:
        self._name = name
        self._transport = transport

    async def introduce(self) -> Introduction:
        return Introduction(type=PLUGIN_TYPE, name=self._name, versions=("1.0.0",), endpoint="")

    def connect(self, introduction: Introduction) -> CsiTransport:  # noqa: ARG002 - it is connected
        return _Lent(self._transport)

    async def notify(self, error: str) -> None:
        """It hears nothing."""

    async def close(self) -> None:
        """The transport belongs to the code that gave it."""


class _Lent:
    """Implements CsiTransport; closing it leaves the transport to its owner."""

    def __init__(self, inner: CsiTransport) -> None:
        self._inner = inner

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        return await self._inner.call(method, request, within=within, permit=permit)

    async def close(self) -> None:
        """Not ours to close."""
