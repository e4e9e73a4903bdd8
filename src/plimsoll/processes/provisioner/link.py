"""The driver at the other end of the socket: its name, its capabilities, and whether it is there.

Every call is counted and timed. A connection that breaks ends the process: what the driver
promised before may not be true any more, and starting again asks it anew.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from google.protobuf.message import Message

from plimsoll.processes.provisioner.call_metrics import CallMetrics
from plimsoll.runtime.clock import Clock
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.methods import Method
from plimsoll.wire.csi.transport import NO_METADATA, Metadata
from plimsoll.wire.errors import FencedError

log = logging.getLogger(__name__)

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

PROBE_EVERY = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverFacts:
    """What a driver said of itself at the start."""

    name: str
    plugin_capabilities: frozenset[str]
    controller_capabilities: frozenset[str]
    node_id: str = ""
    segment: dict[str, str] | None = None
    """Where its node is; only asked for with node deployment."""


class DriverLink:
    def __init__(self, client: CsiClient, clock: Clock, metrics: CallMetrics) -> None:
        self._client = client
        self._clock = clock
        self._metrics = metrics
        self._driver = "unknown-driver"

    async def call(
        self,
        method: Method[Request, Response],
        request: Request,
        metadata: Metadata = NO_METADATA,
    ) -> Response:
        """Raises DriverError."""
        begun = self._clock.monotonic()
        code = "OK"
        try:
            return await self._client.call(method, request, metadata=metadata)
        except DriverError as error:
            code = error.code
            raise
        except FencedError:
            code = "FAILED_PRECONDITION"
            raise
        finally:
            took = self._clock.monotonic() - begun
            self._metrics.called(self._driver, method.name, code, took)

    async def introduce(self, *, with_node: bool) -> DriverFacts:
        """Wait until the driver is ready, then ask it who it is. Raises DriverError."""
        await self._ready()
        info = await self.call(methods.GET_PLUGIN_INFO, csi.GetPluginInfoRequest())
        self._driver = info.name
        plugin = await self.call(
            methods.GET_PLUGIN_CAPABILITIES, csi.GetPluginCapabilitiesRequest()
        )
        controller = await self.call(
            methods.CONTROLLER_GET_CAPABILITIES, csi.ControllerGetCapabilitiesRequest()
        )
        node = (
            await self.call(methods.NODE_GET_INFO, csi.NodeGetInfoRequest()) if with_node else None
        )
        return DriverFacts(
            name=info.name,
            plugin_capabilities=_plugin_capabilities(plugin),
            controller_capabilities=_controller_capabilities(controller),
            node_id=node.node_id if node else "",
            segment=_segment(node),
        )

    async def _ready(self) -> None:
        while True:
            try:
                answer = await self.call(methods.PROBE, csi.ProbeRequest())
            except DriverError as error:
                log.warning("driver not reached", extra={"error": str(error)})
            else:
                if not answer.HasField("ready") or answer.ready.value:
                    return
                log.info("driver not ready")
            await self._clock.sleep(PROBE_EVERY)

    async def close(self) -> None:
        await self._client.close()


def _segment(node: csi.NodeGetInfoResponse | None) -> dict[str, str] | None:
    if node is None or not node.HasField("accessible_topology"):
        return None
    return dict(node.accessible_topology.segments)


def _plugin_capabilities(answer: csi.GetPluginCapabilitiesResponse) -> frozenset[str]:
    name: Callable[[int], str] = csi.PluginCapability.Service.Type.Name
    return frozenset(
        name(each.service.type) for each in answer.capabilities if each.HasField("service")
    )


def _controller_capabilities(answer: csi.ControllerGetCapabilitiesResponse) -> frozenset[str]:
    name: Callable[[int], str] = csi.ControllerServiceCapability.RPC.Type.Name
    return frozenset(name(each.rpc.type) for each in answer.capabilities if each.HasField("rpc"))
