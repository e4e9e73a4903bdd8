"""Claims that share the bytes of a pool are judged together, whatever classes they are of.

The driver is the real one on simulated pools: each pool is one piece, and every class draws on it.
"""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

import msgspec

from plimsoll.api.registry import Document
from plimsoll.decide.capacity.pools import CLASS_POOL, CLASS_POOL_COST, POOLS
from plimsoll.decide.capacity.tokens import CapacityToken, find_token
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.processes.driver.backends.pools.faults import FaultyCall, Hang
from plimsoll.processes.scheduler.settings import SchedulerSettings
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.refusing_transport import forbidden
from plimsoll.simulator.stories.schedulers import (
    SELECTED_NODE,
    a_claim,
    a_pod,
    a_scheduler,
    node_of,
    nodes_of,
    scheduled_condition,
    volume_of,
)
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    PLAIN,
    StoryStorage,
    a_class,
    a_csi_driver,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    published,
    zonal_pools,
)
from plimsoll.wire.csi import methods

LOOPS = ("binding", "claim-protection", "volume-protection")
PUBLISHING = msgspec.structs.replace(PLAIN, enable_capacity=True)
A_WHILE = timedelta(minutes=2)
GIB = 2**30
FAST, SAFE = a_class("fast"), a_class("safe")


@asynccontextmanager
async def a_world(
    *sizes: str,
    classes: tuple[Document, ...] = (FAST, SAFE),
    lists_pools: bool = True,
    policy: Policy = Policy.DEFAULT,
) -> AsyncIterator[tuple[StoryCluster, StoryStorage]]:
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        storage = await stack.enter_async_context(a_storage(cluster.clock, zonal_pools(*sizes)))
        if not lists_pools:
            storage.unknown_calls = frozenset({methods.LIST_POOLS.name})
        await add_storage_nodes(cluster)
        await cluster.create(a_csi_driver(), *classes)
        await stack.enter_async_context(a_provisioner(cluster, storage, PUBLISHING))
        await stack.enter_async_context(a_scheduler(cluster, SchedulerSettings(policy=policy)))
        await cluster.settle()
        yield cluster, storage


async def start_pod(cluster: StoryCluster, *sizes: str) -> None:
    """With one claim of each class."""
    for name, size in zip(("fast", "safe"), sizes, strict=True):
        await cluster.create(a_claim(name, class_name=name, size=size))
    await cluster.create(a_pod(claims=["fast", "safe"]))
    await cluster.wait(A_WHILE)


async def pools_told(cluster: StoryCluster) -> dict[tuple[str, str], list[tuple[str, int]]]:
    """By class and zone: names of pools and what is free in them."""
    return {
        (each["storageClassName"], next(iter(each["nodeTopology"]["matchLabels"].values()))): [
            (pool["name"], sum(pool["free"].values()))
            for pool in json.loads(each["metadata"].get("annotations", {}).get(POOLS, "[]"))
        ]
        for each in await cluster.all("CSIStorageCapacity")
    }


async def test_every_capacity_object_tells_which_pools_are_behind_it() -> None:
    async with a_world("10Gi", "14Gi") as (cluster, _):
        told = await pools_told(cluster)
        for name in ("fast", "safe"):
            assert told[name, "a"] == [("pool-a", 10 * GIB)]
            assert told[name, "b"] == [("pool-b", 14 * GIB)]


async def test_two_claims_that_only_one_node_can_hold_together_go_there() -> None:
    async with a_world("10Gi", "14Gi") as (cluster, storage):
        await start_pod(cluster, "6Gi", "7Gi")
        assert await node_of(cluster, "web") == "node-b"
        assert storage.pools_used == [("pool-b",), ("pool-b",)]
        assert storage.count("CreateVolume") == 2
        assert (await pools_told(cluster))["fast", "b"] == [("pool-b", GIB)]


async def test_where_no_node_holds_both_the_pod_waits_and_is_told_why() -> None:
    async with a_world("10Gi", "12Gi") as (cluster, storage):
        await start_pod(cluster, "6Gi", "7Gi")
        _, reason, message = await scheduled_condition(cluster, "web")
        assert reason == "Unschedulable"
        assert "ClaimsDoNotFitTogether" in message
        assert "the claims need 13Gi of Pool pools.test/pool-" in message
        assert storage.count("CreateVolume") == 0


async def test_a_pod_that_waits_is_tried_when_its_pool_has_room_again() -> None:
    async with a_world("10Gi") as (cluster, _):
        old = a_claim("old", class_name="fast", size="5Gi")
        old["metadata"]["annotations"] = {SELECTED_NODE: "node-a"}
        await cluster.create(old)
        await cluster.settle()
        await start_pod(cluster, "4Gi", "4Gi")
        assert await node_of(cluster, "web") == ""
        await cluster.delete("PersistentVolumeClaim", "old")
        await cluster.wait(timedelta(seconds=30))
        assert await node_of(cluster, "web") == "node-a"


async def test_the_compatible_policy_asks_for_more_than_there_is() -> None:
    async with a_world("10Gi", policy=Policy.COMPATIBLE) as (cluster, storage):
        await start_pod(cluster, "6Gi", "7Gi")
        assert storage.count("CreateVolume") > 1
        assert len(storage.names) == 1


async def test_a_driver_that_does_not_list_pools_is_asked_for_them_once() -> None:
    async with (
        a_cluster(*LOOPS) as cluster,
        a_storage(cluster.clock, zonal_pools("10Gi", "10Gi")) as storage,
    ):
        storage.unknown_calls = frozenset({methods.LIST_POOLS.name})
        await add_storage_nodes(cluster)
        await cluster.create(a_csi_driver(), FAST, SAFE)
        async with a_provisioner(cluster, storage, PUBLISHING) as provisioner:
            await cluster.wait(3 * PUBLISHING.capacity_poll_interval)
            labels = f'driver_name="{DRIVER}",grpc_status_code="Unimplemented"'
            assert provisioner.sample(f"csi_sidecar_operations_seconds_count{{{labels}") == 1
        assert (await published(cluster))["fast", "a"] == "10Gi"
        for each in await cluster.all("CSIStorageCapacity"):
            assert POOLS not in each["metadata"].get("annotations", {})


async def test_claims_of_two_classes_without_pools_are_judged_class_by_class() -> None:
    async with a_world("10Gi", lists_pools=False) as (cluster, _):
        await start_pod(cluster, "6Gi", "3Gi")
        assert await node_of(cluster, "web") == "node-a"


async def test_classes_may_name_the_pool_that_their_driver_does_not_list() -> None:
    shared = {"metadata": {"name": "fast", "annotations": {CLASS_POOL: "disks"}}}
    costs = {CLASS_POOL: "disks", CLASS_POOL_COST: "1"}
    both = {"metadata": {"name": "safe", "annotations": costs}}
    classes = (a_class("fast") | shared, a_class("safe") | both)
    async with a_world("10Gi", "14Gi", classes=classes, lists_pools=False) as (cluster, storage):
        await start_pod(cluster, "6Gi", "7Gi")
        assert await node_of(cluster, "web") == "node-b"
        assert storage.count("CreateVolume") == 2


async def tokens_told(cluster: StoryCluster) -> dict[tuple[str, str], CapacityToken | None]:
    """By class and zone."""
    return {
        (each["storageClassName"], next(iter(each["nodeTopology"]["matchLabels"].values()))): (
            find_token(each["metadata"].get("annotations", {}))
        )
        for each in await cluster.all("CSIStorageCapacity")
    }


async def token_of(cluster: StoryCluster, claim: str) -> CapacityToken:
    volume = await cluster.get("PersistentVolume", await volume_of(cluster, claim))
    found = find_token(volume["metadata"]["annotations"])
    assert found is not None
    return found


async def test_reports_show_by_their_token_that_they_count_a_volume_in() -> None:
    async with a_world("10Gi", "10Gi") as (cluster, _):
        before = await tokens_told(cluster)
        await start_pod(cluster, "2Gi", "1Gi")
        node = await node_of(cluster, "web")
        zone = node.removeprefix("node-")
        newest = max([await token_of(cluster, name) for name in ("fast", "safe")])
        told = await tokens_told(cluster)
        for name in ("fast", "safe"):
            reached = told[name, zone]
            assert reached is not None
            assert reached >= newest
        # Where no volume is, nothing had to be written.
        assert told["fast", "c"] == before["fast", "c"]


async def test_a_later_provisioner_reports_what_an_earlier_one_recorded() -> None:
    async with (
        a_cluster(*LOOPS) as cluster,
        a_storage(cluster.clock, zonal_pools("10Gi")) as storage,
    ):
        await add_storage_nodes(cluster)
        await cluster.create(a_csi_driver(), FAST)
        wanted = a_claim("data", class_name="fast")
        wanted["metadata"]["annotations"] = {SELECTED_NODE: "node-a"}
        await cluster.create(wanted)
        silent = forbidden("csistoragecapacities")
        async with a_provisioner(cluster, storage, PUBLISHING, rule=silent):
            await cluster.wait(timedelta(seconds=10))
        recorded = await token_of(cluster, "data")
        async with a_provisioner(cluster, storage, PUBLISHING, seed=2):
            await cluster.wait(timedelta(seconds=10))
        reached = (await tokens_told(cluster))["fast", "a"]
        assert reached is not None
        assert reached >= recorded


async def start_burst(cluster: StoryCluster, pods: int) -> None:
    """Each with one claim of 3Gi, of one class or the other."""
    for number in range(pods):
        name = f"data-{number}"
        class_name = "fast" if number % 2 else "safe"
        await cluster.create(
            a_claim(name, class_name=class_name, size="3Gi"),
            a_pod(f"web-{number}", claims=[name]),
        )


async def placed(cluster: StoryCluster) -> int:
    return sum(bool(node) for node in (await nodes_of(cluster)).values())


async def test_pods_that_race_for_a_pool_never_ask_for_more_than_it_has() -> None:
    async with a_world("10Gi", "10Gi") as (cluster, storage):
        await start_burst(cluster, 9)
        await cluster.wait(A_WHILE)
        assert await placed(cluster) == 6
        assert len(storage.names) == 6
        # Each volume was asked for once: none was refused.
        assert storage.count("CreateVolume") == 6


async def test_without_reservations_some_volumes_are_refused() -> None:
    async with a_world("10Gi", "10Gi", policy=Policy.COMPATIBLE) as (cluster, storage):
        await start_burst(cluster, 9)
        await cluster.wait(A_WHILE)
        assert storage.count("CreateVolume") > len(storage.names)


async def test_a_slow_driver_is_not_asked_for_what_is_being_made() -> None:
    async with a_world("10Gi") as (cluster, storage):
        storage.set_faults(Hang(call=FaultyCall.CREATE, times=3, seconds=20))
        await start_burst(cluster, 5)
        await cluster.wait(timedelta(seconds=10))
        assert storage.count("CreateVolume") == 3
        await cluster.wait(A_WHILE)
        assert await placed(cluster) == 3
        assert len(storage.names) == 3


async def test_the_next_scheduler_knows_what_is_reserved() -> None:
    async with (
        a_cluster(*LOOPS) as cluster,
        a_storage(cluster.clock, zonal_pools("10Gi")) as storage,
    ):
        await add_storage_nodes(cluster)
        await cluster.create(a_csi_driver(), FAST, SAFE)
        async with a_provisioner(cluster, storage, PUBLISHING):
            await cluster.settle()
        # No provisioner runs: what the first scheduler decides is not carried out.
        async with a_scheduler(cluster):
            await start_burst(cluster, 3)
            await cluster.wait(timedelta(seconds=10))
        await cluster.create(a_claim("late", class_name="fast", size="3Gi"))
        await cluster.create(a_pod("late", claims=["late"]))
        async with a_scheduler(cluster, seed=2):
            await cluster.wait(timedelta(seconds=10))
            _, _, message = await scheduled_condition(cluster, "late")
            assert "CapacityReserved" in message
