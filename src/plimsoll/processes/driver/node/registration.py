"""How a driver makes itself known on its node without a sidecar: its own registration socket.

kubelet, or `plimsoll node`, watches a directory for such sockets, asks each which driver it is, and
tells it how the registration went.
"""

import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from plimsoll.wire.csi.gen import pluginregistration_pb2 as registration
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.methods import NOTIFY_REGISTRATION_STATUS, REGISTRATION_INFO
from plimsoll.wire.csi.server import answering, listening, socket_path

log = logging.getLogger(__name__)

PLUGIN_TYPE = "CSIPlugin"
VERSIONS = ("1.0.0",)
"""Of the protocol between a node and its drivers."""


def registration_endpoint(directory: Path, driver_name: str) -> str:
    return f"unix://{directory.absolute() / f'{driver_name}-reg.sock'}"


def registration_handlers(driver_name: str, endpoint: str) -> dict[str, Handler]:
    """`endpoint` is where the driver itself answers."""

    async def tell(_: registration.InfoRequest) -> registration.PluginInfo:
        return registration.PluginInfo(
            type=PLUGIN_TYPE,
            name=driver_name,
            endpoint=str(socket_path(endpoint)),
            supported_versions=VERSIONS,
        )

    async def hear(
        status: registration.RegistrationStatus,
    ) -> registration.RegistrationStatusResponse:
        if status.plugin_registered:
            log.info("driver registered", extra={"driver": driver_name})
        else:
            facts = {"driver": driver_name, "error": status.error}
            log.error("driver not registered", extra=facts)
        return registration.RegistrationStatusResponse()

    return dict([answering(REGISTRATION_INFO, tell), answering(NOTIFY_REGISTRATION_STATUS, hear)])


class Registration:
    """The registration socket of a driver that does not know at once where its node is.

    The socket is made anew for another topology: that is how kubelet is led to ask again.
    """

    def __init__(self, directory: str, driver_name: str, endpoint: str) -> None:
        """An empty directory: another program registers the driver."""
        self._directory = directory
        self._driver_name = driver_name
        self._endpoint = endpoint
        self._offered: Mapping[str, str] | None = None
        self._socket = AsyncExitStack()

    async def offer(self, topology: Mapping[str, str]) -> None:
        """Be found with this topology, from now on. Raises EndpointError."""
        if not self._directory or topology == self._offered:
            return
        await self.close()
        where = registration_endpoint(Path(self._directory), self._driver_name)
        handlers = registration_handlers(self._driver_name, self._endpoint)
        await self._socket.enter_async_context(listening(where, handlers))
        self._offered = topology

    async def close(self) -> None:
        self._offered = None
        await self._socket.aclose()
