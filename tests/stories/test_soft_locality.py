"""Volumes that can be reached from anywhere, and are cheap near their data: pods go back there.

The driver is the real one on simulated pools, with a class of `reach: Anywhere`.
"""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

from plimsoll.api.registry import Document
from plimsoll.decide.annotations import PLACEMENT_REASON, PREFERRED_TOPOLOGY
from plimsoll.decide.provisioning.settings import ProvisionerMode
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.processes.scheduler.settings import SchedulerSettings
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.schedulers import (
    SCHEDULER,
    a_claim,
    a_pod,
    a_scheduler,
    node_of,
    nodes_of,
    volume_of,
)
from plimsoll.simulator.stories.sidecars import (
    ZONE,
    StoryStorage,
    a_class,
    a_csi_driver,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    zonal_pools,
)
from plimsoll.simulator.stories.workload_objects import stateful_set, template
from plimsoll.wire.csi.binding import BINDING_KEY

LOOPS = ("binding", "claim-protection", "volume-protection", "statefulset")
ANYWHERE = a_class(parameters={"reach": "Anywhere"})
A_WHILE = timedelta(minutes=2)
SMALL, LARGE = {"cpu": "100m"}, {"cpu": "3"}


@asynccontextmanager
async def a_world(
    class_: Document = ANYWHERE,
    policy: Policy = Policy.DEFAULT,
    mode: ProvisionerMode = ProvisionerMode.DEFAULT,
) -> AsyncIterator[tuple[StoryCluster, StoryStorage]]:
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        pools = zonal_pools("10Gi", "10Gi", "10Gi")
        storage = await stack.enter_async_context(a_storage(cluster.clock, pools))
        await add_storage_nodes(cluster)
        await cluster.create(a_csi_driver(storage_capacity=False), class_)
        await stack.enter_async_context(a_provisioner(cluster, storage, mode=mode))
        await stack.enter_async_context(a_scheduler(cluster, SchedulerSettings(policy=policy)))
        await cluster.settle()
        yield cluster, storage


async def run(cluster: StoryCluster) -> None:
    for _ in range(3):
        await cluster.run_pods()
        await cluster.wait(A_WHILE)


async def annotations(cluster: StoryCluster, claim: str) -> dict[str, str]:
    volume = await cluster.get("PersistentVolume", await volume_of(cluster, claim), "")
    found: dict[str, str] = volume["metadata"]["annotations"]
    return found


async def restart(cluster: StoryCluster, *pods: str) -> None:
    for name in pods:
        await cluster.delete("Pod", name)
    await run(cluster)


def a_set(replicas: int) -> Document:
    own = template(schedulerName=SCHEDULER)
    return stateful_set(replicas=replicas, template=own, podManagementPolicy="Parallel")


async def test_pods_of_a_set_go_back_to_their_data_while_there_is_room() -> None:
    async with a_world() as (cluster, _):
        await cluster.create(a_set(3))
        await run(cluster)
        homes = await nodes_of(cluster)
        assert len(set(homes.values())) == 3
        for name, node in homes.items():
            told = await annotations(cluster, f"data-{name}")
            assert json.loads(told[PREFERRED_TOPOLOGY]) == [{ZONE: node.removeprefix("node-")}]

        # The home of web-0 is the fullest node now, and still the one with its data.
        busy = a_pod("busy", requests=LARGE, nodeName=homes["web-0"])
        await cluster.create(busy)
        await restart(cluster, *homes)
        found = await nodes_of(cluster)
        assert {name: found[name] for name in homes} == homes


async def test_pods_run_elsewhere_when_there_is_no_room_and_come_back_later() -> None:
    async with a_world() as (cluster, _):
        await cluster.create(a_set(1))
        await run(cluster)
        home = await node_of(cluster, "web-0")
        await cluster.patch("Node", home, {"spec": {"unschedulable": True}})
        await restart(cluster, "web-0")
        assert await node_of(cluster, "web-0") not in ("", home)
        await cluster.patch("Node", home, {"spec": {"unschedulable": None}})
        await restart(cluster, "web-0")
        assert await node_of(cluster, "web-0") == home


async def test_volumes_of_a_domain_keep_their_pods_there() -> None:
    async with a_world(a_class(parameters={"reach": "Domain"})) as (cluster, _):
        await cluster.create(a_set(1))
        await run(cluster)
        home = await node_of(cluster, "web-0")
        told = await annotations(cluster, "data-web-0")
        assert PREFERRED_TOPOLOGY not in told
        assert told[PLACEMENT_REASON].startswith("Pool pool-")
        await cluster.patch("Node", home, {"spec": {"unschedulable": True}})
        await restart(cluster, "web-0")
        assert await node_of(cluster, "web-0") == ""


async def test_the_driver_hears_how_the_claim_is_bound_and_people_why_it_chose() -> None:
    immediate = a_class(waits=False, parameters={"reach": "Anywhere"})
    async with a_world(immediate) as (cluster, storage):
        await cluster.create(a_claim(class_name="fast"))
        await cluster.wait(A_WHILE)
        assert storage.created_with[0][BINDING_KEY] == "immediate"
        reason = (await annotations(cluster, "data"))[PLACEMENT_REASON]
        assert reason.endswith("which is preferred (10Gi free).")
    async with a_world() as (cluster, storage):
        await cluster.create(a_claim(class_name="fast"), a_pod(claims=["data"]))
        await cluster.wait(A_WHILE)
        assert storage.created_with[0][BINDING_KEY] == "delayed"


async def test_the_compatible_mode_and_policy_know_nothing_of_it() -> None:
    compatible = ProvisionerMode.COMPATIBLE
    async with a_world(policy=Policy.COMPATIBLE, mode=compatible) as (cluster, storage):
        await cluster.create(a_set(1))
        await run(cluster)
        told = await annotations(cluster, "data-web-0")
        assert not {PREFERRED_TOPOLOGY, PLACEMENT_REASON} & told.keys()
        assert BINDING_KEY not in storage.created_with[0]
