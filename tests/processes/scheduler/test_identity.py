"""A scheduler tells its policy where `explain` finds it, and goes on where it may not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from plimsoll.api.core import Lease
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.decide.explain.policies import PolicySource, choose_policy
from plimsoll.decide.scheduling.policy import LASTS, RENEWED_EVERY, Policy
from plimsoll.processes.scheduler.identity import SchedulerIdentity
from plimsoll.processes.scheduler.settings import SchedulerSettings
from plimsoll.runtime.clock import settle
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient

pytestmark = pytest.mark.virtual_time

SETTINGS = SchedulerSettings(
    scheduler_name="default-scheduler", policy=Policy.DEFAULT, leader_elect=False
)


def client_of(cluster: StoryCluster) -> KubeClient:
    return KubeClient(InProcessTransport(cluster.server), clock=cluster.clock, chance=Random(1))


@asynccontextmanager
async def announcing(
    cluster: StoryCluster, settings: SchedulerSettings
) -> AsyncIterator[KubeClient]:
    client = client_of(cluster)
    task = asyncio.ensure_future(SchedulerIdentity(settings, client, "copy-1").run())
    await settle()
    try:
        yield client
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def leases(client: KubeClient) -> tuple[Lease, ...]:
    return (await client.list(typed(Lease))).items


async def test_a_scheduler_without_leader_election_publishes_its_policy() -> None:
    async with a_cluster() as cluster, announcing(cluster, SETTINGS) as client:
        chosen = choose_policy("default-scheduler", None, await leases(client), cluster.clock.now())
        assert (chosen.policy, chosen.source) == (Policy.DEFAULT, PolicySource.PUBLISHED)


async def test_the_policy_stays_published_while_the_scheduler_runs() -> None:
    async with a_cluster() as cluster, announcing(cluster, SETTINGS) as client:
        for _ in range(10):
            await cluster.wait(RENEWED_EVERY)
        (lease,) = await leases(client)
        assert lease.spec.renew_time is not None
        assert cluster.clock.now() - lease.spec.renew_time < LASTS


async def test_a_namespace_that_does_not_exist_does_not_end_the_scheduler() -> None:
    settings = SchedulerSettings(leader_elect_namespace="nowhere")
    async with a_cluster() as cluster, announcing(cluster, settings) as client:
        await cluster.wait(RENEWED_EVERY)
        assert await leases(client) == ()
