"""The example does what it says."""

import asyncio
from random import Random

import pytest
from examples.tiny_scheduler import TinyScheduler

from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.runtime.clock import settle
from plimsoll.simulator.stories.cluster import a_cluster
from plimsoll.simulator.stories.schedulers import (
    a_claim,
    a_delayed_class,
    a_local_volume,
    a_pod,
    add_node,
    node_of,
    volume_of,
)
from plimsoll.wire.kube import KubeClient

pytestmark = pytest.mark.virtual_time


async def test_the_tiny_scheduler_puts_pods_where_their_volumes_are() -> None:
    async with a_cluster("binding") as cluster:
        client = KubeClient(
            InProcessTransport(cluster.server), clock=cluster.clock, chance=Random(1)
        )
        running = asyncio.ensure_future(TinyScheduler(client).run())
        await settle()
        await add_node(cluster, "node-a")
        await add_node(cluster, "node-b")
        await cluster.create(a_delayed_class(), a_local_volume("node-b"))
        await cluster.settle()
        await cluster.create(a_claim(), a_pod("with", claims=["data"], schedulerName="tiny"))
        await cluster.create(a_pod("without", schedulerName="tiny"))
        await cluster.create(a_pod("theirs"))
        await cluster.settle()
        assert await node_of(cluster, "with") == "node-b"
        assert await volume_of(cluster, "data") == "disk-node-b"
        assert await node_of(cluster, "without")
        assert await node_of(cluster, "theirs") == ""
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
