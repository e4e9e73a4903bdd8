"""Two journeys through the program, for `tools.structure` to measure."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import timedelta

import msgspec

from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel, NoNode, Placement
from plimsoll.processes.node.main import makers
from plimsoll.processes.node.settings import NodeProcessSettings, hollow_nodes
from plimsoll.simulator.stories.cluster import a_cluster
from plimsoll.simulator.stories.objects import namespace
from plimsoll.simulator.stories.schedulers import a_claim, a_pod, a_scheduler
from plimsoll.simulator.stories.scripted_driver import ScriptedDriver
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    NAMESPACE,
    PLAIN,
    a_class,
    a_csi_driver,
    a_provisioner,
    a_storage,
    full,
    zonal_pools,
)
from plimsoll.wire.csi.inprocess import InProcessCsi
from tests import builders

LOOPS = ("binding", "claim-protection", "volume-protection")
NODES = {f"node-{index}": {"zone": zone} for index, zone in enumerate("abc")}
A_WHILE = timedelta(seconds=30)


async def a_pod_with_a_claim_until_it_runs(begin: Callable[[], None]) -> None:
    """Every process in one event loop; `begin` is called when all of them are up."""
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        storage = await stack.enter_async_context(
            a_storage(cluster.clock, zonal_pools("10Gi", "10Gi", "10Gi"), NODES)
        )
        await cluster.create(namespace(NAMESPACE), a_csi_driver(), a_class())
        settings = NodeProcessSettings(hollow=len(NODES), name_prefix="node-")
        nodes = hollow_nodes(
            settings, lambda node: {DRIVER: InProcessCsi(_on(node).handlers(), cluster.clock)}
        )
        await cluster.start(more=makers(nodes))
        await cluster.wait(A_WHILE)
        publishing = msgspec.structs.replace(PLAIN, enable_capacity=True)
        await stack.enter_async_context(a_provisioner(cluster, storage, publishing))
        await stack.enter_async_context(a_scheduler(cluster))
        await cluster.wait(A_WHILE)
        begin()
        await cluster.create(a_claim(class_name="fast"), a_pod(claims=["data"]))
        await cluster.wait(A_WHILE)
        phase = (await cluster.get("Pod", "web"))["status"]["phase"]
        if phase != "Running":
            raise RuntimeError(f"the pod is {phase} and does not run")


def _on(node: str) -> ScriptedDriver:
    """The node's half of the driver: hollow nodes mount nothing."""
    return ScriptedDriver(name=DRIVER, node_id=node, topology=full(NODES[node]))


def kernel_with_three_nodes() -> Callable[[], Placement | NoNode]:
    """A decision that is ready to be made: one pod with one claim that waits for it."""
    names = ("node-1", "node-2", "node-3")
    columns = Columns.of(
        [
            builders.a_driver(),
            builders.a_class(),
            builders.a_claim("data"),
            *(builders.a_node(name, labels={builders.ZONE: name}) for name in names),
            *(builders.a_csi_node(name) for name in names),
            *(
                builders.a_capacity(f"room-{name}", segment={builders.ZONE: name}, gib=10)
                for name in names
            ),
        ]
    )
    kernel = Kernel(columns)
    return lambda: kernel.decide(builders.a_pod(claims=["data"]))
