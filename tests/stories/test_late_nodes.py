"""What a node knows of claims may be old: a pod gets the volume of the claim that is there now."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.processes.node.main import NodeProcess
from plimsoll.simulator.engine.chance import seeded
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.nodes import DRIVER, Nodes, a_bound_claim, driver_object, phase
from plimsoll.simulator.stories.objects import pod, uses
from plimsoll.simulator.stories.refusing_transport import asked
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.transport import Request, Response, StreamedResponse, Transport

LATE = {"persistentvolumeclaims", "persistentvolumes"}


class LateWatches:
    """Implements Transport: while it is held, watches of claims and volumes tell nothing new."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._goes_on = asyncio.Event()
        self._goes_on.set()

    def hold(self) -> None:
        self._goes_on.clear()

    def release(self) -> None:
        self._goes_on.set()

    async def request(self, request: Request) -> Response:
        return await self._inner.request(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        async with self._inner.stream(request) as answer:
            if asked(request)[1] not in LATE:
                yield answer
                return
            late = self._late(answer.lines)
            yield StreamedResponse(status=answer.status, body=answer.body, lines=late)

    async def _late(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in lines:
            await self._goes_on.wait()
            yield line

    async def close(self) -> None:
        await self._inner.close()


@asynccontextmanager
async def a_late_node(cluster: StoryCluster, nodes: Nodes) -> AsyncIterator[LateWatches]:
    watches = LateWatches(InProcessTransport(cluster.server))
    client = KubeClient(watches, clock=cluster.clock, chance=seeded(1), manager="node")
    life = asyncio.ensure_future(NodeProcess(nodes.served(), client, nodes.settings).run())
    try:
        await cluster.settle()
        yield watches
    finally:
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)


async def test_a_pod_does_not_get_the_volume_of_a_deleted_claim_of_the_same_name() -> None:
    async with a_cluster("claim-protection", "volume-protection") as cluster:
        nodes = Nodes(cluster)
        async with a_late_node(cluster, nodes) as watches:
            await cluster.create(driver_object())
            await a_bound_claim(cluster)
            await cluster.settle()
            watches.hold()
            await cluster.delete("PersistentVolumeClaim", "data")
            released = {"status": {"phase": "Released"}}
            await cluster.patch("PersistentVolume", "volume-data", released, subresource="status")
            await cluster.delete("PersistentVolume", "volume-data")
            await cluster.settle()
            await a_bound_claim(cluster, csi={"driver": DRIVER, "volumeHandle": "handle-new"})
            await cluster.create(pod(volumes=[uses("data")], node="node-0"))
            await cluster.settle()
            assert nodes.driver.called == []
            assert await phase(cluster, "web") == "Pending"
            watches.release()
            await cluster.settle()
            assert nodes.driver.called == ["NodeStageVolume", "NodePublishVolume"]
            assert nodes.driver.last("NodeStageVolume").volume_id == "handle-new"
            assert await phase(cluster, "web") == "Running"
