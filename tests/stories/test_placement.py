"""Classes and pods say where new volumes go: where much capacity is left, or where little is."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

import msgspec

from plimsoll.api.registry import Document
from plimsoll.decide.annotations import HEADROOM, PLACEMENT
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.processes.scheduler.settings import SchedulerSettings
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.schedulers import a_claim, a_pod, a_scheduler, nodes_of
from plimsoll.simulator.stories.sidecars import (
    PLAIN,
    a_class,
    a_csi_driver,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    zonal_pools,
)

LOOPS = ("binding", "claim-protection", "volume-protection")
PUBLISHING = msgspec.structs.replace(PLAIN, enable_capacity=True)
A_WHILE = timedelta(minutes=2)
MIDDLE, SMALLEST, LARGEST = "node-a", "node-b", "node-c"


def saying(name: str, **annotations: str) -> Document:
    names = {"placement": PLACEMENT, "headroom": HEADROOM}
    told = {names[each]: text for each, text in annotations.items()}
    return a_class(name, metadata={"name": name, "annotations": told})


@asynccontextmanager
async def a_world(
    *classes: Document, policy: Policy = Policy.DEFAULT
) -> AsyncIterator[StoryCluster]:
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        pools = zonal_pools("200Gi", "100Gi", "300Gi")
        storage = await stack.enter_async_context(a_storage(cluster.clock, pools))
        await add_storage_nodes(cluster)
        await cluster.create(a_csi_driver(), *classes)
        await stack.enter_async_context(a_provisioner(cluster, storage, PUBLISHING))
        await stack.enter_async_context(a_scheduler(cluster, SchedulerSettings(policy=policy)))
        await cluster.wait(A_WHILE)
        yield cluster


async def use(cluster: StoryCluster, name: str, class_name: str, placement: str = "") -> None:
    """A pod with a claim of its own, on its node before the next one comes."""
    pod = a_pod(name, claims=[f"{name}-data"])
    if placement:
        pod["metadata"]["annotations"] = {PLACEMENT: placement}
    await cluster.create(a_claim(f"{name}-data", class_name=class_name, size="10Gi"), pod)
    await cluster.wait(A_WHILE)


async def test_one_class_spreads_its_volumes_and_the_other_packs_them() -> None:
    spread, pack = saying("wide", placement="spread"), saying("dense", placement="pack")
    async with a_world(spread, pack) as cluster:
        for number in range(3):
            await use(cluster, f"wide-{number}", "wide")
            await use(cluster, f"dense-{number}", "dense")
        await use(cluster, "other", "wide", placement="pack")
        found = await nodes_of(cluster)
        assert {found[f"wide-{number}"] for number in range(3)} == {LARGEST}
        assert {found[f"dense-{number}"] for number in range(3)} == {SMALLEST}
        assert found["other"] == SMALLEST


async def test_headroom_is_left_alone_while_another_node_will_do() -> None:
    async with a_world(saying("dense", placement="pack", headroom="75Gi")) as cluster:
        for number in range(3):
            await use(cluster, f"dense-{number}", "dense")
        found = await nodes_of(cluster)
        assert [found[f"dense-{number}"] for number in range(3)] == [SMALLEST, SMALLEST, MIDDLE]


async def test_users_are_told_what_cannot_be_read_and_pods_run_all_the_same() -> None:
    async with a_world(saying("wide", placement="everywhere")) as cluster:
        await use(cluster, "web", "wide", placement="nowhere")
        assert (await nodes_of(cluster))["web"]
        for name, text in ("wide", "everywhere"), ("web", "nowhere"):
            told = [each for each in await cluster.events(name) if each[0] == "PlacementUnreadable"]
            assert told == [
                (
                    "PlacementUnreadable",
                    f"annotation {PLACEMENT} must be spread or pack, not '{text}'; it is ignored",
                )
            ]


async def test_the_compatible_policy_knows_nothing_of_it() -> None:
    dense = saying("dense", placement="pack", headroom="many")
    async with a_world(dense, policy=Policy.COMPATIBLE) as cluster:
        await use(cluster, "web", "dense")
        assert (await nodes_of(cluster))["web"] == LARGEST
        assert "PlacementUnreadable" not in dict(await cluster.events("dense"))
