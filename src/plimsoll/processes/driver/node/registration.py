"""How a driver makes itself known on its node without a sidecar: its own registration socket.

kubelet, or `plimsoll node`, watches a directory for such sockets, asks each which driver it is, and
tells it how the registration went.
"""

import logging
from pathlib import Path

from plimsoll.wire.csi.gen import pluginregistration_pb2 as registration
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.methods import NOTIFY_REGISTRATION_STATUS, REGISTRATION_INFO
from plimsoll.wire.csi.server import answering, socket_path

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
