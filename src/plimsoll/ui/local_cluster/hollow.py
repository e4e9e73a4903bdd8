"""Hundreds of nodes in this process, with their drivers: real decisions, no mounts."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from plimsoll.processes.driver import main as drivers
from plimsoll.processes.driver.configuration import DriverSettings, configured
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.node import main as node
from plimsoll.processes.node.settings import NodeProcessSettings as NodeSettings, hollow_nodes
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.config import Sources, load_settings
from plimsoll.ui.local_cluster.layout import REGION, ZONE, ClusterOptions, settings_file
from plimsoll.ui.local_cluster.objects import LOCAL, POOLS
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.csi.server import listening
from plimsoll.wire.csi.transport import CsiTransport
from plimsoll.wire.kube import KubeClient

Transports = dict[str, dict[str, CsiTransport]]
"""By node, then by driver."""


@asynccontextmanager
async def hollow(wanted: ClusterOptions, client: KubeClient, clock: Clock) -> AsyncIterator[None]:
    """All nodes, and their drivers, for as long as the block lasts."""
    transports: Transports = {name: {} for name in wanted.names}
    async with AsyncExitStack() as stack:
        for driver in (LOCAL, POOLS):
            await stack.enter_async_context(_driver(wanted, driver, clock, transports))
        settings = NodeSettings(hollow=wanted.nodes, name_prefix="hollow-")
        nodes = hollow_nodes(settings, lambda name: transports[name])
        for name, served in nodes.items():
            labels = {**served.machine.labels, ZONE: wanted.zone_of(name), REGION: "local"}
            served.machine = replace(served.machine, labels=labels)
        task = asyncio.ensure_future(node.NodeProcess(nodes, client, settings).run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def _driver(
    wanted: ClusterOptions,
    name: str,
    clock: Clock,
    transports: Mapping[str, dict[str, CsiTransport]],
) -> AsyncIterator[None]:
    sources = Sources(file=settings_file(wanted, name))
    configuration = configured(load_settings(DriverSettings, sources))
    settings = configuration.backend_settings()
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
