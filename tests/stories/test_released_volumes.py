"""Volumes that exist, and were given to claims of a pod, are released if another one cannot be had.

Two nodes have two disks each. A pod with two claims is to get those of node-a, which is larger, and
another hand takes one of them for another claim.
"""

from dataclasses import dataclass
from datetime import timedelta

from plimsoll.decide.scheduling.policy import Policy
from plimsoll.processes.scheduler.settings import SchedulerSettings
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.refusing_transport import InterruptedTransport
from plimsoll.simulator.stories.schedulers import (
    a_claim,
    a_delayed_class,
    a_local_volume,
    a_pod,
    a_scheduler,
    add_node,
    node_of,
)
from plimsoll.wire.transport import Transport

ENOUGH = timedelta(minutes=5)
CLAIMS = ("one", "two")


@dataclass(frozen=True, slots=True)
class When:
    verb: str
    number: int


BEFORE_ANY_WRITE, BEFORE_SECOND_WRITE = When("get", 1), When("patch", 2)
AFTER_FIRST_IS_BOUND = When("patch", 2)
OTHER = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "default"}


async def prepare(cluster: StoryCluster) -> None:
    for node, cpu in (("node-a", "8"), ("node-b", "2")):
        await add_node(cluster, node, cpu=cpu, memory=f"{cpu}Gi")
        for number in (1, 2):
            await cluster.create(a_local_volume(node, f"{node}-{number}"))
    await cluster.create(a_delayed_class())
    await cluster.create(*(a_claim(name) for name in CLAIMS))


async def owners(cluster: StoryCluster) -> dict[str, str]:
    """Name of the claim, by volume."""
    volumes = await cluster.all("PersistentVolume")
    named = {each["metadata"]["name"]: each["spec"].get("claimRef") or {} for each in volumes}
    return {volume: reference["name"] for volume, reference in named.items() if reference}


async def take_the_rest_of_node_a(cluster: StoryCluster) -> None:
    taken = await owners(cluster)
    for name in ("node-a-1", "node-a-2"):
        if name not in taken:
            patch = {"spec": {"claimRef": {**OTHER, "name": "other"}}}
            await cluster.patch("PersistentVolume", name, patch)


async def play(cluster: StoryCluster, when: When, policy: Policy = Policy.DEFAULT) -> None:
    """The controller rests while the scheduler writes, unless something has to be bound first."""
    await prepare(cluster)
    await cluster.settle()
    if when is not AFTER_FIRST_IS_BOUND:
        await cluster.kill_controllers()
    await cluster.create(a_pod(claims=CLAIMS))

    async def happens() -> None:
        while when is AFTER_FIRST_IS_BOUND and not await is_bound(cluster):
            await cluster.clock.sleep(timedelta(seconds=1))
        await take_the_rest_of_node_a(cluster)

    def through(inner: Transport) -> Transport:
        return InterruptedTransport(
            inner, when.verb, "persistentvolumes", happens, number=when.number
        )

    async with a_scheduler(cluster, SchedulerSettings(policy=policy), through=through):
        await cluster.wait(timedelta(seconds=5))
        await cluster.start("binding")
        await cluster.wait(ENOUGH)


async def is_bound(cluster: StoryCluster) -> bool:
    claims = await cluster.all("PersistentVolumeClaim")
    return any(each["status"].get("phase") == "Bound" for each in claims)


async def own_disks(cluster: StoryCluster) -> list[str]:
    return sorted(volume for volume, name in (await owners(cluster)).items() if name in CLAIMS)


async def test_a_disk_that_another_claim_took_before_is_noticed_before_any_is_written() -> None:
    """The watch of the scheduler is behind."""
    async with a_cluster("binding") as cluster:
        await play(cluster, BEFORE_ANY_WRITE)
        assert await node_of(cluster, "web") == "node-b"
        assert await own_disks(cluster) == ["node-b-1", "node-b-2"]


async def test_a_disk_is_released_where_the_other_goes_to_another_claim_meanwhile() -> None:
    """The controller has not bound it yet."""
    async with a_cluster("binding") as cluster:
        await play(cluster, BEFORE_SECOND_WRITE)
        assert await node_of(cluster, "web") == "node-b"
        assert await own_disks(cluster) == ["node-b-1", "node-b-2"]


async def test_a_disk_that_is_bound_by_then_stays_with_its_claim() -> None:
    async with a_cluster("binding") as cluster:
        await play(cluster, AFTER_FIRST_IS_BOUND)
        assert await node_of(cluster, "web") == ""
        (kept,) = await own_disks(cluster)
        assert kept.startswith("node-a")
        claims = await cluster.all("PersistentVolumeClaim")
        assert sorted(each["status"]["phase"] for each in claims) == ["Bound", "Pending"]


async def test_by_the_compatible_policy_the_first_disk_keeps_the_pod_on_its_node() -> None:
    async with a_cluster("binding") as cluster:
        await play(cluster, BEFORE_SECOND_WRITE, Policy.COMPATIBLE)
        assert await node_of(cluster, "web") == ""
        assert sorted((await owners(cluster)).values()) == ["one", "other"]
