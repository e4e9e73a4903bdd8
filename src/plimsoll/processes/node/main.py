"""The node process: the loops, the connection, signals."""

import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

from plimsoll.processes.node.directory.locking import alone_in
from plimsoll.processes.node.leases import Leases
from plimsoll.processes.node.node_objects import NodeObjects, Reports
from plimsoll.processes.node.observation import NodeObservation
from plimsoll.processes.node.pods import Pods
from plimsoll.processes.node.registrations import Registrations
from plimsoll.processes.node.served import ServedNode
from plimsoll.processes.node.settings import COMPONENT, NodeProcessSettings, nodes_of
from plimsoll.reconcile.loop import Tools
from plimsoll.reconcile.running import LoopEnvironment, Make, RunningLoops
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.config import environment
from plimsoll.runtime.ids import system_chance
from plimsoll.runtime.metrics import Metrics
from plimsoll.runtime.signals import until_signalled
from plimsoll.wire.connect import connect
from plimsoll.wire.health import OK, Pages, ServedPage, not_yet, serving, usual_pages
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment

log = logging.getLogger(__name__)

LEASE_RENEW = timedelta(seconds=10)


def makers(
    nodes: Mapping[str, ServedNode], lease_renew: timedelta = LEASE_RENEW
) -> dict[str, Make]:
    """The loops that are these nodes; all of them see through the same informers."""
    shared: list[tuple[NodeObservation, Reports]] = []

    def around(tools: Tools) -> tuple[NodeObservation, Reports]:
        if not shared:
            observation = NodeObservation(tools.observed, nodes)
            shared.append((observation, Reports(tools, observation)))
        return shared[0]

    return {
        NodeObjects.name: lambda tools: NodeObjects(tools, nodes, *around(tools)),
        Leases.name: lambda tools: Leases(tools, nodes, around(tools)[0], lease_renew),
        Registrations.name: lambda tools: Registrations(tools, nodes),
        Pods.name: lambda tools: Pods(tools, nodes, *around(tools)),
    }


class NodeProcess:
    """The whole process but its signals. Programs that contain nodes begin here."""

    def __init__(
        self, nodes: Mapping[str, ServedNode], client: KubeClient, settings: NodeProcessSettings
    ) -> None:
        self.metrics = Metrics()
        instance = next(iter(nodes)) if len(nodes) == 1 else ""
        setting = LoopEnvironment(
            client=client,
            component=COMPONENT,
            metrics=self.metrics,
            chance=client.chance,
            instance=instance,
        )
        self._loops = RunningLoops(makers(nodes, settings.lease_renew), setting)

    def pages(self) -> Pages:
        return usual_pages(self.metrics, self._ready)

    def _ready(self) -> ServedPage:
        return OK if self._loops.is_synced else not_yet("not everything was seen yet")

    async def run(self) -> None:
        """Until cancelled. What is mounted stays mounted: the next life finds it."""
        await self._loops.run()


async def run(
    settings: NodeProcessSettings,
    on_serving: Callable[[int], None],
    on_begin: Callable[[list[str]], None],
) -> None:
    """Until SIGTERM or SIGINT; pods stay as they are."""
    nodes = nodes_of(settings)
    with nullcontext() if settings.hollow else alone_in(Path(settings.data_dir)):
        await _run(nodes, settings, on_serving, on_begin)


async def _run(
    nodes: Mapping[str, ServedNode],
    settings: NodeProcessSettings,
    on_serving: Callable[[int], None],
    on_begin: Callable[[list[str]], None],
) -> None:
    around = KubeconfigEnvironment(environment=environment(), clock=SystemClock())
    wish = ConnectionOptions(kubeconfig=settings.kubeconfig, context=settings.context)
    client = connect(wish, around, system_chance(), manager=COMPONENT)
    process = NodeProcess(nodes, client, settings)
    try:
        async with serving(settings.metrics_port, process.pages()) as port:
            on_serving(port)
            log.info("node starting", extra={"nodes": len(nodes), "node": next(iter(nodes))})
            on_begin(list(nodes))
            await until_signalled(process.run())
    finally:
        await client.close()
