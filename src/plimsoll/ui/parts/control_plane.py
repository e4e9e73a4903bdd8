"""The parts of a control plane beside its API server: controller, scheduler, provisioners."""

from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any

from plimsoll.enact.leading import LeadershipLostError
from plimsoll.processes.controller import main as controller_process
from plimsoll.processes.controller.settings import COMPONENT as CONTROLLER, ControllerSettings
from plimsoll.processes.provisioner import main as provisioner_process
from plimsoll.processes.provisioner.clients import (
    COMPONENT as PROVISIONER,
    Clients,
    DriverLostError,
    while_connected,
)
from plimsoll.processes.provisioner.settings import ProvisionerFlags
from plimsoll.processes.scheduler.main import SchedulerProcess
from plimsoll.processes.scheduler.settings import COMPONENT as SCHEDULER, SchedulerSettings
from plimsoll.ui.parts.assembly import Part, PartEnvironment, PartLife
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.transport import CsiTransport

EXPECTED = (LeadershipLostError, DriverLostError)
"""Ends of a part that come from elsewhere, where the log tells of them."""


def controller(settings: ControllerSettings, around: PartEnvironment) -> Part:
    """Raises ConfigError and ProvisionerSetupError."""
    controller_process.check(settings)

    async def live(life: PartLife) -> None:
        async with AsyncExitStack() as stack:
            client = await around.connected(stack, CONTROLLER)
            process = controller_process.ControllerProcess(
                settings, client, around.transports, around.identity()
            )
            life.pages = process.pages()
            await process.run(lambda names: life.begin())  # noqa: ARG005 - of no use here

    return live


def scheduler(settings: SchedulerSettings, around: PartEnvironment) -> Part:
    async def live(life: PartLife) -> None:
        async with AsyncExitStack() as stack:
            client = await around.connected(stack, SCHEDULER)
            process = SchedulerProcess(settings, client, around.identity())
            life.pages = process.pages()
            await process.run(life.begin)

    return live


def provisioner(settings: ProvisionerFlags, around: PartEnvironment) -> Part:
    async def live(life: PartLife) -> None:
        async with AsyncExitStack() as stack:
            transport = around.transport(settings.csi_address)
            stack.push_async_callback(transport.close)
            clients = Clients(
                kube=await around.connected(stack, PROVISIONER),
                capacity=await around.connected(stack, PROVISIONER),
                election=await around.connected(stack, PROVISIONER),
                driver=transport,
                clock=around.clock,
            )
            identity = around.identity()
            life.pages = provisioner_process.pages(identity.metrics, settings.metrics_path)
            process = provisioner_process.ProvisionerProcess(settings, clients, identity)
            await _while_connected(transport, process.run(lambda driver: life.begin()))  # noqa: ARG005

    return live


async def _while_connected(transport: CsiTransport, running: Coroutine[Any, Any, None]) -> None:
    """Only a connection can be lost."""
    if isinstance(transport, GrpcTransport):
        await while_connected(transport, running)
    else:
        await running
