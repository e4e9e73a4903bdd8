"""What intents and groups cost in writes, counted at the processes that write."""

from collections import Counter
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest

from plimsoll.processes.scheduler.settings import SchedulerSettings
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.refusing_transport import Rule, forbidden, open_to_all
from plimsoll.simulator.stories.schedulers import a_claim, a_pod, a_scheduler, nodes_of
from plimsoll.simulator.stories.sidecars import (
    NAMESPACE,
    a_class,
    a_csi_driver,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    zonal_pools,
)

LOOPS = ("binding", "claim-protection", "volume-protection")
SETTINGS = SchedulerSettings(record_namespaces=NAMESPACE)
PODS = 5


async def start_pods(cluster: StoryCluster, claims: int) -> None:
    for number in range(PODS):
        names = [f"data-{number}-{each}" for each in range(claims)]
        for name in names:
            await cluster.create(a_claim(name, class_name="fast"))
        await cluster.create(a_pod(f"web-{number}", claims=names))
    await cluster.wait(timedelta(minutes=1))
    assert all((await nodes_of(cluster)).values())


async def written_for(claims: int, rule: Rule) -> Counter[tuple[str, str]]:
    """By verb and resource, for all pods; what the scheduler wrote is ("", "scheduler")."""
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        pools = zonal_pools("90Gi", "90Gi", "90Gi")
        storage = await stack.enter_async_context(a_storage(cluster.clock, pools))
        await add_storage_nodes(cluster)
        await cluster.create(a_csi_driver(storage_capacity=False), a_class("fast"))
        provisioner = await stack.enter_async_context(a_provisioner(cluster, storage, rule=rule))
        scheduler = await stack.enter_async_context(a_scheduler(cluster, SETTINGS))
        await cluster.settle()
        passed, before = len(provisioner.transport.passed), scheduler.writes
        await start_pods(cluster, claims)
        asked = provisioner.transport.passed[passed:]
        found = Counter(each for each in asked if each[0] not in ("get", "list", "watch"))
        found["", "scheduler"] = scheduler.writes - before
        return found


async def test_a_pod_with_one_claim_pays_two_writes_for_its_intent_and_no_more() -> None:
    with_intents = await written_for(1, open_to_all)
    without = await written_for(1, forbidden("leases"))

    more = with_intents.total() - without.total()
    assert with_intents - without == {("create", "leases"): PODS, ("delete", "leases"): PODS}
    assert more == 2 * PODS


@pytest.mark.parametrize("claims", [2, 3])
async def test_a_pod_with_several_claims_pays_for_its_group_and_each_hold(claims: int) -> None:
    """Three writes for the group; for each claim the intent comes, is `Made` and goes, and the
    hold is taken off."""
    with_records = await written_for(claims, open_to_all)
    without = await written_for(claims, forbidden("leases"))

    more = with_records.total() - without.total()
    assert more <= PODS * (3 + 4 * claims)
