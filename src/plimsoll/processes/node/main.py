"""The node process: the loops that are one node, or many."""

import logging
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

from plimsoll.processes.node.directory.locking import alone_in
from plimsoll.processes.node.leases import Leases
from plimsoll.processes.node.node_objects import NodeObjects, Reports
from plimsoll.processes.node.observation import NodeObservation
from plimsoll.processes.node.pods import Pods
from plimsoll.processes.node.registrations import Registrations
from plimsoll.processes.node.served_node import ServedNode
from plimsoll.processes.node.settings import COMPONENT, NodeProcessSettings, nodes_of
from plimsoll.reconcile.loop import Tools
from plimsoll.reconcile.process import (
    LoopProcess,
    OnReady,
    PagesAddress,
    ProcessIdentity,
    connected,
    run_until_signalled,
)
from plimsoll.reconcile.running import Make, RunningLoops
from plimsoll.runtime.ids import Ids, system_ids
from plimsoll.wire.kube import KubeClient

log = logging.getLogger(__name__)

LEASE_RENEW = timedelta(seconds=10)


def makers(
    nodes: Mapping[str, ServedNode], lease_renew: timedelta = LEASE_RENEW
) -> dict[str, Make]:
    """The loops that are these nodes; all of them see through the same informers."""
    shared: list[tuple[NodeObservation, Reports]] = []

    def observed_by(tools: Tools) -> tuple[NodeObservation, Reports]:
        if not shared:
            observation = NodeObservation(tools.observed, nodes)
            shared.append((observation, Reports(tools, observation)))
        return shared[0]

    return {
        NodeObjects.name: lambda tools: NodeObjects(tools, nodes, *observed_by(tools)),
        Leases.name: lambda tools: Leases(tools, nodes, observed_by(tools)[0], lease_renew),
        Registrations.name: lambda tools: Registrations(tools, nodes),
        Pods.name: lambda tools: Pods(tools, nodes, *observed_by(tools)),
    }


class NodeProcess:
    """The whole process but its signals. Programs that contain nodes begin here."""

    def __init__(
        self,
        nodes: Mapping[str, ServedNode],
        client: KubeClient,
        settings: NodeProcessSettings,
        ids: Ids | None = None,
    ) -> None:
        instance = next(iter(nodes)) if len(nodes) == 1 else ""
        identity = ProcessIdentity(instance=instance, ids=ids or system_ids())
        process = LoopProcess(client, elects=False, identity=identity)
        self._loops = RunningLoops(
            makers(nodes, settings.lease_renew), process.environment(COMPONENT)
        )
        process.work = self._loops
        self.pages = process.pages

    async def run(self) -> None:
        """Until cancelled. What is mounted stays mounted: the next life finds it."""
        await self._loops.run()


async def run(settings: NodeProcessSettings, on_ready: OnReady) -> None:
    """Until SIGTERM or SIGINT; pods stay as they are."""
    nodes = nodes_of(settings)
    with nullcontext() if settings.hollow else alone_in(Path(settings.data_dir)):
        async with connected(settings, COMPONENT) as client:
            process = NodeProcess(nodes, client, settings)

            async def work(url: str) -> None:
                names = list(nodes)
                log.info("node starting", extra={"nodes": len(names), "node": names[0]})
                who = names[0] if len(names) == 1 else f"{len(names)} hollow nodes"
                on_ready(f"plimsoll node ready; metrics {url}/metrics; {who}")
                await process.run()

            address = PagesAddress(port=settings.metrics_port)
            await run_until_signalled(work, process.pages(), address)
