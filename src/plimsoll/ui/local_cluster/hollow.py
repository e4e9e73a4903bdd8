"""Hundreds of nodes in one process, with their drivers: real decisions, no mounts."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from plimsoll.processes.driver import main as drivers
from plimsoll.processes.driver.configuration import DriverSettings, configured
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.node.main import NodeProcess
from plimsoll.processes.node.served_node import ServedNode
from plimsoll.processes.node.settings import (
    COMPONENT,
    NodeProcessSettings as NodeSettings,
    hollow_nodes,
)
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.config import Sources, load_settings
from plimsoll.ui.local_cluster.layout import REGION, ZONE, ClusterOptions, settings_file
from plimsoll.ui.local_cluster.objects import LOCAL, POOLS
from plimsoll.ui.parts.assembly import Part, PartEnvironment, PartLife
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.csi.server import listening
from plimsoll.wire.csi.transport import CsiTransport

Transports = dict[str, dict[str, CsiTransport]]
"""By node, then by driver."""


def hollow(
    wanted: ClusterOptions, around: PartEnvironment, served: Callable[[], Awaitable[None]]
) -> Part:
    """All nodes, and their drivers: one part, because they share what they call each other by.

    `served` returns when the API server answers.
    """

    async def live(life: PartLife) -> None:
        transports: Transports = {name: {} for name in wanted.names}
        async with AsyncExitStack() as stack:
            for driver in (LOCAL, POOLS):
                await stack.enter_async_context(_driver(wanted, driver, around.clock, transports))
            await served()
            client = await around.connected(stack, COMPONENT)
            settings = NodeSettings(hollow=wanted.nodes, name_prefix="hollow-")
            nodes = _labelled(wanted, hollow_nodes(settings, lambda name: transports[name]))
            process = NodeProcess(nodes, client, settings, around.identity().ids)
            life.pages = process.pages()
            life.begin()
            await process.run()

    return live


def _labelled(wanted: ClusterOptions, nodes: dict[str, ServedNode]) -> dict[str, ServedNode]:
    for name, served in nodes.items():
        labels = {**served.machine.labels, ZONE: wanted.zone_of(name), REGION: "local"}
        served.machine = replace(served.machine, labels=labels)
    return nodes


@asynccontextmanager
async def _driver(
    wanted: ClusterOptions,
    name: str,
    clock: Clock,
    transports: Mapping[str, dict[str, CsiTransport]],
) -> AsyncIterator[None]:
    sources = Sources(file=settings_file(wanted, name))
    configuration = configured(load_settings(DriverSettings, sources))
    settings = configuration.backend_settings(clock)
    ledger = Ledger(configuration.data_dir)
    async with (
        drivers.running(configuration.backend, settings, ledger) as driver,
        AsyncExitStack() as sockets,
    ):
        for each in settings.nodes:
            handlers = drivers.handlers(driver, each, settings)
            transports[each.id][name] = InProcessCsi(handlers, clock)
            if each.endpoint:
                await sockets.enter_async_context(listening(each.endpoint, handlers))
        yield
