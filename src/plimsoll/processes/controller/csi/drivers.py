"""The drivers that this process can call: their names, their capabilities, whether they are there.

A driver is known by a socket, or by a transport that was handed in; its name is what it says it is.
One that is not there yet is waited for; one that goes away is forgotten, and asked everything anew
when it comes back: another version of it may be able to do other things.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from plimsoll.runtime.clock import Clock
from plimsoll.runtime.leading.fence import Fence
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.fenced import FencedCsi
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.server import socket_path
from plimsoll.wire.csi.transport import CsiTransport

log = logging.getLogger(__name__)

WAIT = timedelta(seconds=1)
CONTROLLER_SERVICE = "CONTROLLER_SERVICE"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverSources:
    """Where drivers are. `transports`, by the name of the driver, stay their owner's to close."""

    addresses: tuple[str, ...] = ()
    """Unix sockets, as paths or with `unix://`."""
    transports: Mapping[str, CsiTransport] = field(default_factory=dict)
    within: timedelta = timedelta(seconds=15)
    """How long a driver may take for one call."""
    probe_every: timedelta = timedelta(seconds=10)
    """How often it is asked whether it is still there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDriver:
    name: str
    client: CsiClient
    controller: frozenset[str] = frozenset()
    """What its controller can do, by CSI's names; nothing for a driver without a controller."""
    node: frozenset[str] = frozenset()


class KnownDrivers:
    def __init__(self, sources: DriverSources, clock: Clock, fence: Fence) -> None:
        self._sources = sources
        self._fence = fence
        self._clock = clock
        self._known: dict[str, KnownDriver] = {}
        self._handlers: list[Callable[[str], None]] = []

    def find(self, name: str) -> KnownDriver | None:
        return self._known.get(name)

    def all(self) -> list[KnownDriver]:
        """Those that are there, by name."""
        return [self._known[name] for name in sorted(self._known)]

    def on_change(self, handler: Callable[[str], None]) -> None:
        """Called with the name of a driver that came, or came back."""
        self._handlers.append(handler)

    async def run(self) -> None:
        """Never returns; cancel it."""
        sockets = {address: f"unix:{socket_path(address)}" for address in self._sources.addresses}
        opened = {address: GrpcTransport(target) for address, target in sockets.items()}
        try:
            async with asyncio.TaskGroup() as group:
                for where, transport in (opened | dict(self._sources.transports)).items():
                    client = CsiClient(
                        FencedCsi(transport, self._fence), within=self._sources.within
                    )
                    group.create_task(self._follow(where, client), name=f"driver {where}")
                await asyncio.Event().wait()
        finally:
            for transport in opened.values():
                await transport.close()

    async def _follow(self, where: str, client: CsiClient) -> None:
        while True:
            driver = await self._introduced(where, client)
            log.info("driver found", extra={"driver": driver.name, "address": where})
            self._known[driver.name] = driver
            for handler in self._handlers:
                handler(driver.name)
            await self._gone(client)
            log.warning("driver gone", extra={"driver": driver.name, "address": where})
            self._known.pop(driver.name, None)

    async def _introduced(self, where: str, client: CsiClient) -> KnownDriver:
        last = ""
        while True:
            try:
                return await _introduce(client)
            except DriverError as error:
                if str(error) != last:
                    log.warning("driver not ready", extra={"address": where, "error": str(error)})
                last = str(error)
            await self._clock.sleep(WAIT)

    async def _gone(self, client: CsiClient) -> None:
        """Returns when no driver answers. One that is slow, or says no, is still there."""
        while True:
            await self._clock.sleep(self._sources.probe_every)
            try:
                await client.call(methods.PROBE, csi.ProbeRequest())
            except DriverError as error:
                if error.failure is DriverFailure.UNREACHABLE:
                    return


async def _introduce(client: CsiClient) -> KnownDriver:
    """Raises DriverError while the driver is not there, or not ready."""
    probed = await client.call(methods.PROBE, csi.ProbeRequest())
    if probed.HasField("ready") and not probed.ready.value:
        name, detail = methods.PROBE.name, "it says that it is not ready"
        raise DriverError(DriverFailure.WRONG_STATE, method=name, detail=detail)
    info = await client.call(methods.GET_PLUGIN_INFO, csi.GetPluginInfoRequest())
    plugin = await client.call(methods.GET_PLUGIN_CAPABILITIES, csi.GetPluginCapabilitiesRequest())
    service: Callable[[int], str] = csi.PluginCapability.Service.Type.Name
    services = {service(each.service.type) for each in plugin.capabilities}
    has_controller = CONTROLLER_SERVICE in services
    return KnownDriver(
        name=info.name,
        client=client,
        controller=await _controller(client) if has_controller else frozenset(),
        node=await _node(client),
    )


async def _controller(client: CsiClient) -> frozenset[str]:
    request = csi.ControllerGetCapabilitiesRequest()
    answer = await client.call(methods.CONTROLLER_GET_CAPABILITIES, request)
    name: Callable[[int], str] = csi.ControllerServiceCapability.RPC.Type.Name
    return frozenset(name(each.rpc.type) for each in answer.capabilities if each.HasField("rpc"))


async def _node(client: CsiClient) -> frozenset[str]:
    """A socket that serves the controller alone knows nothing of nodes."""
    try:
        answer = await client.call(methods.NODE_GET_CAPABILITIES, csi.NodeGetCapabilitiesRequest())
    except DriverError as error:
        if error.failure is DriverFailure.UNSUPPORTED:
            return frozenset()
        raise
    name: Callable[[int], str] = csi.NodeServiceCapability.RPC.Type.Name
    return frozenset(name(each.rpc.type) for each in answer.capabilities if each.HasField("rpc"))
