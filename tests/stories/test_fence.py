"""A leader whose machine slept beyond its lease: another copy leads, and it writes nothing more.

Each copy has a clock of its own. The one that slept is in the worst position: none of its timers
has told it anything yet, and everything that happens still reaches it at once.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from random import Random

import msgspec
import pytest

from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.decide.capacity.names import leader_lease_name
from plimsoll.enact.leading import LeadershipLostError
from plimsoll.processes.controller.in_process.provisioners.registry import Installation, installed
from plimsoll.processes.controller.main import ControllerProcess as Controller
from plimsoll.processes.controller.settings import ControllerSettings
from plimsoll.processes.scheduler.main import SchedulerProcess as Scheduler
from plimsoll.processes.scheduler.settings import SchedulerSettings
from plimsoll.reconcile.process import ProcessIdentity
from plimsoll.runtime.clock import SteppedClock, settle
from plimsoll.runtime.ids import seeded_ids
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim, volume
from plimsoll.simulator.stories.refusing_transport import RefusingTransport, open_to_all
from plimsoll.simulator.stories.schedulers import SELECTED_NODE, a_pod, add_node, volume_of
from plimsoll.simulator.stories.sidecars import (
    PLAIN,
    RunningProvisioner,
    StoryStorage,
    a_class,
    a_storage,
    add_storage_nodes,
    zonal_pools,
)
from plimsoll.simulator.stories.story_process import at_once
from plimsoll.simulator.stories.workload_objects import replica_set, stateful_set
from plimsoll.wire.csi.fenced import HARMLESS_CALLS
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.csi.transport import Permit, permit_always
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.transport import Request

MINUTE = timedelta(minutes=1)
ELECTED = msgspec.structs.replace(PLAIN, leader_election=True, leader_election_namespace="storage")

Run = Callable[[KubeClient, ProcessIdentity], "asyncio.Future[None]"]


class Machine:
    """One copy of a process, with its own time; `written` is what it changed, but for leases."""

    def __init__(self, cluster: StoryCluster, run: Run, seed: int) -> None:
        self.clock = SteppedClock()
        self.written: list[str] = []
        transport = RefusingTransport(InProcessTransport(cluster.server), self._note)
        client = KubeClient(transport, clock=self.clock, chance=Random(seed), manager="copy")
        self.task = run(client, ProcessIdentity(instance=f"copy-{seed}", ids=seeded_ids(seed)))

    def _note(self, request: Request) -> int:
        if not request.is_read and "/leases" not in request.path:
            self.written.append(f"{request.method} {request.path}")
        return open_to_all(request)

    def sleep(self) -> None:
        """Time passes, but no timer of this machine goes off."""
        self.clock.suspend(MINUTE)

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@asynccontextmanager
async def two_copies(cluster: StoryCluster, run: Run) -> AsyncIterator[tuple[Machine, Machine]]:
    """The first of them leads."""
    first = Machine(cluster, run, 1)
    await first.clock.run(timedelta(seconds=1))
    second = Machine(cluster, run, 2)
    await settle()
    try:
        yield first, second
    finally:
        await first.stop()
        await second.stop()


def controllers(where: Path) -> Run:
    settings = ControllerSettings(data_dir=str(where))

    def run(client: KubeClient, identity: ProcessIdentity) -> "asyncio.Future[None]":
        inside = installed(Installation(directory=where, blocking=at_once))
        process = Controller(settings, client, identity=identity, provisioners=inside)
        return asyncio.ensure_future(process.run(lambda _: None))

    return run


def schedulers(client: KubeClient, identity: ProcessIdentity) -> "asyncio.Future[None]":
    return asyncio.ensure_future(Scheduler(SchedulerSettings(), client, identity).run(lambda: None))


async def test_a_controller_that_slept_leaves_everything_to_the_next(tmp_path: Path) -> None:
    async with (
        a_cluster() as cluster,
        two_copies(cluster, controllers(tmp_path)) as (old, new),
    ):
        old.sleep()
        before = len(old.written)
        await cluster.create(
            replica_set("web", replicas=3),
            stateful_set("db", claims=(), replicas=1),
            volume("by-hand"),
            claim("bound"),
            a_class("made", waits=False) | {"provisioner": "plimsoll.dev/host-path"},
            claim("made", class_name="made"),
        )
        await settle()
        assert await cluster.names("Pod") == [], "the new one waits, the old one must not write"
        await new.clock.run(MINUTE)
        await settle()

        pods = await cluster.names("Pod")
        assert pods[0] == "db-0"
        assert len(pods) == 4
        assert await volume_of(cluster, "bound") == "by-hand"
        assert await volume_of(cluster, "made") != ""
        assert old.written[before:] == []
        assert {"POST", "PATCH"} <= {line.partition(" ")[0] for line in new.written}
        with pytest.raises(LeadershipLostError):
            await old.task


async def test_a_scheduler_that_slept_binds_no_pod() -> None:
    async with a_cluster() as cluster, two_copies(cluster, schedulers) as (old, new):
        await add_node(cluster, "node-1")
        old.sleep()
        before = len(old.written)
        await cluster.create(a_pod())
        await settle()
        await new.clock.run(MINUTE)
        await settle()

        assert (await cluster.get("Pod", "web"))["spec"].get("nodeName") == "node-1"
        assert old.written[before:] == []
        with pytest.raises(LeadershipLostError):
            await old.task


async def test_a_provisioner_that_slept_asks_nothing_of_its_driver() -> None:
    clock = SteppedClock()
    async with (
        a_cluster("binding") as cluster,
        a_storage(cluster.clock, zonal_pools("10Gi")) as storage,
    ):
        await add_storage_nodes(cluster, {"node-a": {"zone": "a"}})
        old = RunningProvisioner(cluster, storage, ELECTED, clock=clock)
        await old.start()
        await clock.run(timedelta(seconds=1))
        clock.suspend(MINUTE)
        written = old.writes
        await cluster.create(a_class(waits=False), claim())
        await cluster.settle()
        assert storage.count("CreateVolume") == 0
        assert old.writes == written
        assert old.has_ended

        async with _another(cluster, storage):
            await cluster.wait(MINUTE)
            assert storage.names == [await volume_of(cluster, "data")]
        await old.kill()


class LateCsi(InProcessCsi):
    """A network in which changes wait, once they have left the process that makes them."""

    def __init__(self, inner: InProcessCsi) -> None:
        self._inner = inner
        self.may_arrive = asyncio.Event()

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        metadata = permit()

        async def arrive() -> bytes:
            if method not in HARMLESS_CALLS:
                await self.may_arrive.wait()
            return await self._inner.call(method, request, within=within, permit=lambda: metadata)

        # What was sent arrives even if its sender has ended.
        return await asyncio.shield(asyncio.ensure_future(arrive()))


class BehindLateNetwork(StoryStorage):
    """The same driver, reached over a network that holds calls back."""

    @cached_property
    def network(self) -> LateCsi:
        return LateCsi(super().transport("node-a"))

    def transport(self, node: str) -> InProcessCsi:
        del node
        return self.network


async def test_a_driver_obeys_no_call_that_arrives_after_the_next_leader_s() -> None:
    """Sent in time, and late on its way: the volume would belong to no claim."""
    clock = SteppedClock()
    async with (
        a_cluster("binding", "claim-protection", "volume-protection") as cluster,
        a_storage(cluster.clock, zonal_pools("10Gi")) as storage,
    ):
        await add_storage_nodes(cluster, {"node-a": {"zone": "a"}})
        late = BehindLateNetwork(storage.driver, storage.settings)
        old = RunningProvisioner(cluster, late, ELECTED, clock=clock)
        await old.start()
        await cluster.create(a_class(waits=False), claim())
        await cluster.settle()
        clock.suspend(MINUTE)
        async with _another(cluster, storage):
            await cluster.wait(MINUTE)
            assert storage.names == [await volume_of(cluster, "data")]
            await cluster.delete("PersistentVolumeClaim", "data")
            await cluster.wait(MINUTE)
            assert storage.names == []
            late.network.may_arrive.set()
            await cluster.settle()
            assert storage.names == []
        assert old.has_ended
        await old.kill()


async def test_a_leader_that_a_driver_tells_of_a_newer_one_ends_without_a_word_to_users() -> None:
    """By its own clock it may still act: the lease was deleted, and made anew by another copy."""
    clock = SteppedClock()
    async with (
        a_cluster("binding") as cluster,
        a_storage(cluster.clock, zonal_pools("10Gi")) as storage,
    ):
        await add_storage_nodes(cluster, {"node-a": {"zone": "a"}})
        late = BehindLateNetwork(storage.driver, storage.settings)
        old = RunningProvisioner(cluster, late, ELECTED, clock=clock)
        await old.start()
        annotations = {SELECTED_NODE: "node-a"}
        await cluster.create(a_class(), claim(class_name="fast", annotations=annotations))
        await cluster.wait(MINUTE)
        await cluster.delete("Lease", leader_lease_name(storage.settings.driver_name), "storage")
        async with _another(cluster, storage):
            await cluster.wait(MINUTE)
            assert storage.names == [await volume_of(cluster, "data")]
            told, written, had_ended = await cluster.events("data"), old.writes, old.has_ended

            late.network.may_arrive.set()
            await cluster.settle()

            assert (had_ended, old.has_ended) == (False, True)
            assert old.writes == written
            assert await cluster.events("data") == told
            found = await cluster.get("PersistentVolumeClaim", "data")
            assert found["metadata"]["annotations"][SELECTED_NODE] == "node-a"
        await old.kill()


async def test_the_leader_of_a_lease_that_was_made_anew_is_obeyed() -> None:
    async with (
        a_cluster("binding") as cluster,
        a_storage(cluster.clock, zonal_pools("10Gi")) as storage,
    ):
        await add_storage_nodes(cluster, {"node-a": {"zone": "a"}})
        await cluster.create(a_class(waits=False))
        for number in range(3):
            async with _another(cluster, storage, seed=number):
                await cluster.wait(MINUTE)
                await cluster.create(claim(f"data-{number}"))
                await cluster.wait(MINUTE)
        await cluster.delete("Lease", leader_lease_name(storage.settings.driver_name), "storage")
        async with _another(cluster, storage, seed=7):
            await cluster.wait(MINUTE)
            await cluster.create(claim("after"))
            await cluster.wait(MINUTE)
            assert await volume_of(cluster, "after") in storage.names


@asynccontextmanager
async def _another(
    cluster: StoryCluster, storage: StoryStorage, *, seed: int = 2
) -> AsyncIterator[None]:
    other = RunningProvisioner(cluster, storage, ELECTED, seed=seed)
    await other.start()
    try:
        yield
    finally:
        await other.kill()
