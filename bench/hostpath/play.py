"""One workload in one setting, from the first pod that is created to the last that runs."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import uvloop
from conformance.programs import DiedError

from bench.hostpath.cluster import DRIVER, NAMESPACE, HostpathCluster, started
from bench.hostpath.counters import Counters, failed_creates, read_counters
from bench.hostpath.objects import pods_with_claims, storage_objects
from bench.hostpath.workload import Load, Setting
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document, resources_by_kind
from plimsoll.api.storage import CSINode, CSIStorageCapacity
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.ids import system_chance
from plimsoll.wire.connect import connect
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import Upserted, documents, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment
from plimsoll.wire.parameters import Selection, WatchFrom

PODS, CSI_NODES, CAPACITIES = typed(Pod), typed(CSINode), typed(CSIStorageCapacity)
CREATED_AT_ONCE = 16
PROGRESS_SECONDS = 2.0
LOOK_SECONDS = 0.1
PREPARE_SECONDS = 120.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    load: Load
    setting: Setting
    running_at: tuple[float, ...]
    """For each pod that runs, after how many seconds it did."""
    seconds: float
    """Until the last pod ran, or the time was up."""
    cost: Counters

    @property
    def is_complete(self) -> bool:
        return len(self.running_at) == self.load.pods

    @property
    def failed_creates(self) -> int:
        return round(self.cost.failed_creates)


@dataclass(slots=True)
class Progress:
    began: float = field(default_factory=time.monotonic)
    running_at: dict[str, float] = field(default_factory=dict)

    def saw(self, pod: Pod) -> None:
        if pod.status.phase == "Running":
            self.running_at.setdefault(pod.name, self.seconds)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


def play(load: Load, setting: Setting, time_limit: float, say: Say) -> Played:
    """Raises DiedError if a process ends, AssertionError if the cluster never gets ready."""
    say(f"{load}, {setting.name}: starting …")
    with started(load, setting) as cluster:
        return uvloop.run(_play(load, setting, cluster, _Pace(time_limit, say)))


@dataclass(frozen=True, slots=True)
class _Pace:
    time_limit: float
    say: Say


async def _play(load: Load, setting: Setting, cluster: HostpathCluster, pace: _Pace) -> Played:
    kube = _client(cluster)
    try:
        for document in storage_objects(setting):
            await _create(kube, document)
        await _until_ready(kube, load, setting)
        before = read_counters(cluster)
        progress = Progress()
        told = f"{load.name} {setting.name}"
        await _all_running(kube, load, progress, _Telling(cluster, told, pace))
        seconds = progress.seconds
        cost = read_counters(cluster).since(before)
    finally:
        await kube.close()
    return Played(
        load=load,
        setting=setting,
        running_at=tuple(sorted(progress.running_at.values())),
        seconds=seconds,
        cost=_without_our_own(cost, load),
    )


def _without_our_own(cost: Counters, load: Load) -> Counters:
    """What the processes asked of the server: less the objects that the benchmark created."""
    ours = load.pods * (1 + load.claims_per_pod)
    return replace(cost, requests=cost.requests - ours, writes=cost.writes - ours)


@dataclass(frozen=True, slots=True)
class _Telling:
    cluster: HostpathCluster
    name: str
    pace: _Pace

    async def until_time_is_up(self, load: Load, progress: Progress) -> None:
        while progress.seconds < self.pace.time_limit:
            await asyncio.sleep(min(PROGRESS_SECONDS, self.pace.time_limit - progress.seconds))
            self.cluster.check_alive()
            failed = await asyncio.to_thread(failed_creates, self.cluster)
            self.pace.say(
                f"{self.name}: {len(progress.running_at)} of {load.pods} pods running, "
                f"{failed:.0f} failed creates, {progress.seconds:.0f} s"
            )


async def _all_running(kube: KubeClient, load: Load, progress: Progress, telling: _Telling) -> None:
    """Returns when all pods run, or the time is up. Raises DiedError."""
    try:
        async with asyncio.TaskGroup() as tasks:
            creating = tasks.create_task(_create_all(kube, load))
            watching = tasks.create_task(_watch(kube, load.pods, progress))
            waiting = tasks.create_task(telling.until_time_is_up(load, progress))
            await asyncio.wait((watching, waiting), return_when=asyncio.FIRST_COMPLETED)
            for task in (creating, watching, waiting):
                task.cancel()
    except ExceptionGroup as group:
        # What the others say follows from the process that has ended.
        died, _ = group.split(DiedError)
        raise (died or group).exceptions[0] from group


async def _create_all(kube: KubeClient, load: Load) -> None:
    waiting = pods_with_claims(load)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(CREATED_AT_ONCE):
            tasks.create_task(_create_each(kube, waiting))


async def _create_each(kube: KubeClient, waiting: Iterator[list[Document]]) -> None:
    for objects in waiting:
        for document in objects:
            await _create(kube, document)


async def _create(kube: KubeClient, document: Document) -> None:
    group, _, version = document["apiVersion"].rpartition("/")
    await kube.create(documents(resources_by_kind()[group, version, document["kind"]]), document)


async def _watch(kube: KubeClient, wanted: int, progress: Progress) -> None:
    """A watch that ends is begun anew."""
    where = Selection(namespace=NAMESPACE)
    while len(progress.running_at) < wanted:
        try:
            page = await kube.list(PODS, where)
            for pod in page.items:
                progress.saw(pod)
            start = WatchFrom(resource_version=page.resource_version)
            async with kube.watch(PODS, start, where) as events:
                async for event in events:
                    if isinstance(event, Upserted):
                        progress.saw(event.object)
                    if len(progress.running_at) == wanted:
                        return
        except KubeError:
            await asyncio.sleep(LOOK_SECONDS)


async def _until_ready(kube: KubeClient, load: Load, setting: Setting) -> None:
    """All nodes have the driver and, where capacity is tracked, each of them a number."""
    until = time.monotonic() + PREPARE_SECONDS
    while not await _is_ready(kube, load, setting):
        assert time.monotonic() < until, "the nodes, or their capacity objects, never came"
        await asyncio.sleep(LOOK_SECONDS)


async def _is_ready(kube: KubeClient, load: Load, setting: Setting) -> bool:
    nodes = (await kube.list(CSI_NODES)).items
    served = [each for each in nodes if any(d.name == DRIVER for d in each.spec.drivers or ())]
    if len(served) < load.nodes:
        return False
    published = (await kube.list(CAPACITIES)).items
    return len(published) == (load.nodes if setting.is_tracked else 0)


def _client(cluster: HostpathCluster) -> KubeClient:
    around = KubeconfigEnvironment(environment=dict(os.environ), clock=SystemClock())
    options = ConnectionOptions(kubeconfig=str(cluster.server.kubeconfig))
    return connect(options, around, system_chance())
