"""A node that the provisioner refuses to a pod is remembered: the pod gets its volume elsewhere.

Topology is strict: the driver may make the volume for the selected node only, so that nothing but
another choice of the scheduler helps. Capacity is not tracked: only the driver knows.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

import msgspec

from plimsoll.api.registry import Document
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.processes.driver.backends.pools.faults import Fail, FaultyCall
from plimsoll.processes.scheduler.settings import SchedulerSettings
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.refusing_transport import RefusingTransport, asked
from plimsoll.simulator.stories.schedulers import (
    HOSTNAME,
    SELECTED_NODE,
    RunningScheduler,
    a_claim,
    a_delayed_class,
    a_pod,
    a_scheduler,
    add_node,
    node_of,
    nodes_of,
    volume_of,
)
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    PLAIN,
    ZONE,
    ZONES,
    StoryStorage,
    a_class,
    a_csi_driver,
    a_provisioner,
    a_storage,
    add_storage_nodes,
    told_zones,
    zonal_pools,
)
from plimsoll.wire.transport import Request
from tests.stories.test_preemption import (
    WHOLE_NODE,
    a_priority,
    add_priorities,
    high,
    is_leaving,
    let_go,
    low,
)

LOOPS = ("binding", "claim-protection", "volume-protection")
STRICT = msgspec.structs.replace(PLAIN, strict_topology=True)
COMPATIBLE = SchedulerSettings(policy=Policy.COMPATIBLE)
FULL, FREE = "1Mi", "10Gi"
A_WHILE = timedelta(minutes=2)


@asynccontextmanager
async def a_strict_world(
    *sizes: str, settings: SchedulerSettings | None = None
) -> AsyncIterator[tuple[StoryCluster, StoryStorage, RunningScheduler]]:
    """Controller, scheduler, provisioner and driver; a pool of some size for each node's zone."""
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_cluster(*LOOPS))
        storage = await stack.enter_async_context(a_storage(cluster.clock, zonal_pools(*sizes)))
        await add_storage_nodes(cluster, ZONES)
        await cluster.create(a_csi_driver(storage_capacity=False), a_class())
        await stack.enter_async_context(a_provisioner(cluster, storage, STRICT))
        scheduler = await stack.enter_async_context(a_scheduler(cluster, settings))
        yield cluster, storage, scheduler


def a_request(name: str = "data") -> Document:
    return a_claim(name, class_name="fast", size="5Gi")


async def make_best(cluster: StoryCluster, node: str) -> None:
    """The other nodes have less room for pods: this one is always scored highest."""
    for name in ZONES:
        if name != node:
            room = {"cpu": "1", "memory": "1Gi", "pods": "110"}
            status = {"status": {"capacity": room, "allocatable": room}}
            await cluster.patch("Node", name, status, subresource="status")


async def failures_of(cluster: StoryCluster, pod: str) -> list[str]:
    events = await cluster.events(pod)
    return [message for reason, message in events if reason == "FailedScheduling"]


async def test_a_pod_leaves_the_best_node_when_that_has_no_room_for_its_volume() -> None:
    async with a_strict_world(FULL, FREE, FREE) as (cluster, storage, _):
        await make_best(cluster, "node-a")
        await cluster.create(a_request(), a_pod(claims=["data"], requests={"cpu": "500m"}))
        await cluster.wait(A_WHILE)
        node = await node_of(cluster, "web")
        assert node in ("node-b", "node-c")
        zone = node.removeprefix("node-")
        assert await told_zones(cluster, await volume_of(cluster, "data")) == [zone]
        assert storage.pools_used == [(f"pool-{zone}",)]
        assert storage.count("CreateVolume") == 2


async def test_who_refused_which_node_and_why_is_told() -> None:
    async with a_strict_world(FULL, FREE, FREE) as (cluster, _, _):
        await make_best(cluster, "node-a")
        await cluster.create(a_request(), a_pod(claims=["data"], requests={"cpu": "500m"}))
        await cluster.wait(A_WHILE)
        (told,) = await failures_of(cluster, "web")
        start = f'binding volumes: provisioning failed for PVC "data": {DRIVER} refused node node-a'
        assert told.startswith(f"{start}: rpc error: code = ResourceExhausted desc = ")
        assert "needs 5368709120 bytes" in told
        assert told.endswith("[ProvisionerRefused]")


async def test_while_a_zone_fails_pods_go_to_the_other_two_of_three_equal_nodes() -> None:
    async with a_strict_world(FREE, FREE, FREE) as (cluster, storage, _):
        down = Fail(call=FaultyCall.CREATE, pool="pool-a", code="RESOURCE_EXHAUSTED", times=1000)
        storage.set_faults(down)
        for number in range(6):
            name = f"data-{number}"
            claim = a_claim(name, class_name="fast")
            await cluster.create(claim, a_pod(f"web-{number}", claims=[name]))
        await cluster.wait(A_WHILE)
        assert set((await nodes_of(cluster)).values()) == {"node-b", "node-c"}
        assert storage.count("CreateVolume") <= 2 * 6


async def test_where_every_node_refuses_they_are_tried_in_turn_until_one_has_room() -> None:
    async with a_strict_world(FREE, FREE, FREE) as (cluster, storage, _):
        faults = [
            Fail(call=FaultyCall.CREATE, pool=f"pool-{zone}", code="RESOURCE_EXHAUSTED", times=1000)
            for zone in "abc"
        ]
        storage.set_faults(*faults)
        await make_best(cluster, "node-a")
        await cluster.create(a_request(), a_pod(claims=["data"], requests={"cpu": "500m"}))
        await cluster.wait(A_WHILE)
        asked = [request.accessibility_requirements.requisite[0] for request in storage.created]
        zones = [next(iter(topology.segments.values())) for topology in asked]
        assert len(zones) >= 6
        assert set(zones[:3]) == set("abc")
        assert zones == (zones[:3] * len(zones))[: len(zones)]
        storage.set_faults(*faults[:2])
        await cluster.wait(A_WHILE)
        assert await node_of(cluster, "web") == "node-c"


async def test_what_is_remembered_goes_with_the_pod() -> None:
    async with a_strict_world(FULL, FULL, FULL) as (cluster, _, scheduler):
        await cluster.create(a_request(), a_pod(claims=["data"]))
        await cluster.wait(A_WHILE)
        refusals = scheduler.scheduler.refusals
        assert refusals is not None
        assert len(refusals.memory) == 3
        await cluster.delete("Pod", "web")
        await cluster.settle()
        assert len(refusals.memory) == 0


async def test_the_compatible_policy_keeps_choosing_the_node_with_the_best_score() -> None:
    """As kube-scheduler does: see `policy`."""
    async with a_strict_world(FULL, FREE, FREE, settings=COMPATIBLE) as (cluster, storage, _):
        await make_best(cluster, "node-a")
        await cluster.create(a_request(), a_pod(claims=["data"], requests={"cpu": "500m"}))
        await cluster.wait(A_WHILE)
        assert await node_of(cluster, "web") == ""
        assert storage.count("CreateVolume") > 2


async def test_of_equal_nodes_the_compatible_policy_takes_another_each_time() -> None:
    async with a_strict_world(FULL, FULL, FREE, settings=COMPATIBLE) as (cluster, _, _):
        await cluster.create(a_request(), a_pod(claims=["data"]))
        await cluster.wait(A_WHILE)
        assert await node_of(cluster, "web") == "node-c"


async def test_a_node_without_the_labels_that_the_driver_wants_is_left_before_any_call() -> None:
    async with a_strict_world(FREE, FREE, FREE) as (cluster, storage, _):
        await make_best(cluster, "node-a")
        await cluster.patch("Node", "node-a", {"metadata": {"labels": {ZONE: None}}})
        await cluster.create(a_request(), a_pod(claims=["data"], requests={"cpu": "500m"}))
        await cluster.wait(A_WHILE)
        assert await node_of(cluster, "web") in ("node-b", "node-c")
        assert storage.count("CreateVolume") == 1
        (told,) = await failures_of(cluster, "web")
        assert f"{DRIVER} refused node node-a: " in told


# Refusals by others: another program takes the selected node off the claim


async def selected_node(cluster: StoryCluster, claim: str = "data") -> str:
    found = await cluster.get("PersistentVolumeClaim", claim)
    node: str = found["metadata"].get("annotations", {}).get(SELECTED_NODE, "")
    return node


async def refuse(cluster: StoryCluster, claim: str = "data") -> None:
    refusal = {"metadata": {"annotations": {SELECTED_NODE: None}}}
    await cluster.patch("PersistentVolumeClaim", claim, refusal)


def no_listed_events(request: Request) -> int:
    return 403 if asked(request) == ("list", "events") else 0


@asynccontextmanager
async def a_world_with_a_foreign_provisioner() -> AsyncIterator[StoryCluster]:
    """Two nodes of which node-a is the better one, and a driver that the test itself plays."""
    async with a_cluster("binding") as cluster:
        await add_node(cluster, "node-a", cpu="8")
        await add_node(cluster, "node-b", cpu="2")
        await cluster.create(a_delayed_class("fast", "disk.example.com"))
        await cluster.create(a_request(), a_pod(claims=["data"], requests={"cpu": "500m"}))
        yield cluster


async def test_a_node_taken_off_before_any_driver_was_called_is_refused_too() -> None:
    async with a_world_with_a_foreign_provisioner() as cluster, a_scheduler(cluster):
        await cluster.settle()
        assert await selected_node(cluster) == "node-a"
        await refuse(cluster)
        await cluster.settle(timedelta(seconds=10))
        assert await selected_node(cluster) == "node-b"
        (told,) = await failures_of(cluster, "web")
        assert told == (
            'binding volumes: provisioning failed for PVC "data": '
            "disk.example.com refused node node-a [ProvisionerRefused]"
        )


async def test_a_node_taken_off_after_the_pod_gave_up_waiting_is_remembered() -> None:
    impatient = SchedulerSettings(
        bind_timeout=timedelta(seconds=5), pod_initial_backoff=timedelta(minutes=1)
    )
    async with (
        a_world_with_a_foreign_provisioner() as cluster,
        a_scheduler(cluster, impatient) as running,
    ):
        await cluster.wait(timedelta(seconds=6))
        assert await selected_node(cluster) == "node-a"
        await refuse(cluster)
        await cluster.settle()
        refusals = running.scheduler.refusals
        assert refusals is not None
        assert len(refusals.memory) == 1


async def test_a_change_of_the_node_makes_the_scheduler_try_it_again() -> None:
    async with a_world_with_a_foreign_provisioner() as cluster, a_scheduler(cluster):
        await cluster.settle()
        await refuse(cluster)
        await cluster.settle(timedelta(seconds=10))
        assert await selected_node(cluster) == "node-b"
        await cluster.patch("Node", "node-a", {"metadata": {"labels": {"disk": "new"}}})
        await refuse(cluster)
        await cluster.settle(timedelta(seconds=10))
        assert await selected_node(cluster) == "node-a"


async def test_a_pod_made_anew_keeps_its_node_when_the_attempt_for_the_old_one_ends() -> None:
    async with a_cluster("binding") as cluster, a_scheduler(cluster):
        await add_node(cluster, "node-a", cpu="1")
        large = {"cpu": "600m"}
        await cluster.create(a_delayed_class("fast", "disk.example.com"))
        await cluster.create(a_request(), a_pod(claims=["data"], requests=large))
        await cluster.settle()
        await refuse(cluster)
        # The scheduler looks for the reason in events, which may come a moment later.
        await cluster.wait(timedelta(milliseconds=500))
        await cluster.delete("Pod", "web")
        await cluster.create(a_pod(claims=["data"], requests=large))
        await cluster.settle(timedelta(seconds=10))
        assert await selected_node(cluster) == "node-a"
        await cluster.create(a_pod("other", requests=large))
        await cluster.settle()
        assert await node_of(cluster, "other") == ""


async def test_a_scheduler_that_may_not_read_events_learns_all_the_same() -> None:
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(a_world_with_a_foreign_provisioner())
        scheduler = a_scheduler(
            cluster, through=lambda transport: RefusingTransport(transport, no_listed_events)
        )
        await stack.enter_async_context(scheduler)
        await cluster.settle()
        await refuse(cluster)
        await cluster.settle(timedelta(seconds=10))
        assert await selected_node(cluster) == "node-b"


async def test_what_looks_like_a_secret_in_a_provisioners_event_is_not_repeated() -> None:
    async with a_world_with_a_foreign_provisioner() as cluster, a_scheduler(cluster):
        await cluster.settle()
        claim = await cluster.get("PersistentVolumeClaim", "data")
        await cluster.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": "data.1", "namespace": "default"},
                "involvedObject": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": "default",
                    "name": "data",
                    "uid": claim["metadata"]["uid"],
                },
                "reason": "ProvisioningFailed",
                "type": "Warning",
                "message": "no room: Authorization: Bearer abcdef0123456789",
            }
        )
        await refuse(cluster)
        await cluster.settle(timedelta(seconds=10))
        (told,) = await failures_of(cluster, "web")
        assert "refused node node-a: no room: " in told
        assert "abcdef0123456789" not in told


async def test_pods_leave_another_node_when_the_first_one_had_no_volume() -> None:
    """The place stays empty there, so that the pod which has left it gets it back, and keeps it."""
    async with a_strict_world(FULL, FREE, FULL) as (cluster, _, _):
        await add_priorities(cluster)
        await cluster.create(
            a_priority("middle", 500),
            low("least", nodeSelector={HOSTNAME: "node-a"}),
            a_pod(
                "more",
                nodeSelector={HOSTNAME: "node-b"},
                priorityClassName="middle",
                requests=WHOLE_NODE,
            ),
            high("equal", nodeSelector={HOSTNAME: "node-c"}),
        )
        await cluster.settle()
        await cluster.create(a_request(), high(claims=["data"]))
        await cluster.settle()
        assert await is_leaving(cluster, "least")
        await cluster.delete("Pod", "least", grace=0)
        await cluster.create(low("least-again"))
        await cluster.wait(A_WHILE)
        assert await node_of(cluster, "least-again") == "node-a"
        assert not await is_leaving(cluster, "least-again")
        assert await is_leaving(cluster, "more")
        await let_go(cluster, "more")
        await cluster.wait(A_WHILE)
        assert await node_of(cluster, "high") == "node-b"
