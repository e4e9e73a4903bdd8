"""A provisioner beside a CSI driver in a story's cluster.

The driver is the real one on simulated pools, in memory. `StoryStorage` outlives provisioners, as
drivers and what they made do; a provisioner can be cut off after each of its writes and after each
effect of its calls.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from grpc import StatusCode

from plimsoll.api.registry import Document
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.decide.provisioning.intents import PROVISIONER
from plimsoll.decide.provisioning.settings import ProvisionerMode
from plimsoll.decide.records import RECORD
from plimsoll.processes.driver.backends.pools.backend import PoolsBackend
from plimsoll.processes.driver.backends.pools.faults import Fault, Lie
from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.main import handlers, running
from plimsoll.processes.driver.settings import BackendSettings, Mounts, NodeSettings
from plimsoll.processes.provisioner.clients import Clients
from plimsoll.processes.provisioner.main import ProvisionerProcess
from plimsoll.processes.provisioner.settings import ProvisionerFlags, check
from plimsoll.reconcile.process import ProcessIdentity
from plimsoll.runtime.clock import settle
from plimsoll.runtime.ids import seeded_ids
from plimsoll.runtime.metrics import Metrics
from plimsoll.simulator.engine.chance import seeded
from plimsoll.simulator.stories.cluster import StoryCluster
from plimsoll.simulator.stories.expectations import expect, expect_no_restarts, samples
from plimsoll.simulator.stories.objects import namespace
from plimsoll.simulator.stories.refusing_transport import RefusingTransport, Rule, open_to_all
from plimsoll.simulator.stories.schedulers import add_node
from plimsoll.simulator.stories.story_clock import RunClock
from plimsoll.simulator.stories.story_process import (
    StoryCsiLink,
    StoryLife,
    StoryLink,
    StoryProcess,
)
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.inprocess import Handler, InProcessCsi
from plimsoll.wire.csi.transport import Metadata
from plimsoll.wire.kube import KubeClient

DRIVER = "pools.test"
NAMESPACE = "storage"
POD = "provisioner-0"
ZONE, HOST = f"topology.{DRIVER}/zone", f"topology.{DRIVER}/host"
FIRST_SEED = 1000

Nodes = Mapping[str, Mapping[str, str]]
"""By name, their topology without the driver's prefix."""

ZONES: Nodes = {"node-a": {"zone": "a"}, "node-b": {"zone": "b"}, "node-c": {"zone": "c"}}


def pool(name: str, size: str, **fields: Any) -> Document:
    return {"name": name, "size": size} | fields


def zonal_pools(*sizes: str) -> list[Document]:
    """One for each zone: a, b, and so on."""
    return [
        pool(f"pool-{zone}", size, topology={"zone": zone})
        for zone, size in zip("abcdefgh", sizes, strict=False)
    ]


@dataclass
class StoryStorage:
    """A driver, what it was asked, and a hook for what it has done."""

    driver: Driver
    settings: BackendSettings
    calls: list[str] = field(default_factory=list)
    created: list[csi.CreateVolumeRequest] = field(default_factory=list)
    created_with: list[Metadata] = field(default_factory=list)
    """The metadata of the same calls."""
    on_effect: Callable[[str], None] = lambda _call: None
    """After a volume was made or deleted, before the caller has the answer."""
    unknown_calls: frozenset[str] = frozenset()
    """That the driver does not have, as drivers of other vendors."""
    needs_place: bool = False
    """It makes no volume if it is not told from where it has to be reachable."""

    @property
    def names(self) -> list[str]:
        """Of the volumes that exist."""
        return sorted(volume.name for volume in self.driver.ledger.volumes.all())

    @property
    def ids(self) -> list[str]:
        """Of the volumes that exist, as PersistentVolumes name them."""
        return sorted(volume.id for volume in self.driver.ledger.volumes.all())

    @property
    def deletions(self) -> int:
        """How often it was asked to delete a volume, in one way or the other."""
        return self.count("DeleteVolume") + self.count("DeleteNeverPublished")

    @property
    def pools_used(self) -> list[tuple[str, ...]]:
        """Of each volume, sorted."""
        volumes = self.driver.ledger.volumes.all()
        return sorted(tuple(sorted(volume.placement.pools)) for volume in volumes)

    def set_faults(self, *script: Fault | Lie) -> None:
        cast("PoolsBackend", self.driver.backend).faults.set(*script)

    def count(self, call: str) -> int:
        return self.calls.count(call)

    @property
    def client(self) -> CsiClient:
        """For calls by other programs than the provisioner."""
        return CsiClient(self.transport(self.settings.nodes[0].id))

    def transport(self, node: str) -> InProcessCsi:
        settings = next(each for each in self.settings.nodes if each.id == node)
        table = handlers(self.driver, settings, self.settings)
        told = {
            name: self._told(name, handler)
            for name, handler in table.items()
            if name not in self.unknown_calls
        }
        return InProcessCsi(told, self.settings.clock)

    def _told(self, method: str, handler: Handler) -> Handler:
        call = method.rpartition("/")[2]

        async def told(request: bytes, metadata: Metadata) -> bytes:
            self.calls.append(call)
            if method == methods.CREATE_VOLUME.name:
                self.created.append(csi.CreateVolumeRequest.FromString(request))
                self.created_with.append(metadata)
                if self.needs_place and not self.created[-1].HasField("accessibility_requirements"):
                    raise CsiStatusError(StatusCode.INVALID_ARGUMENT, "no topology is required")
            before = self.names
            try:
                return await handler(request, metadata)
            finally:
                if self.names != before:
                    self.on_effect(call)

        return told


@asynccontextmanager
async def a_storage(
    clock: RunClock, pools: Sequence[Document], nodes: Nodes = ZONES
) -> AsyncIterator[StoryStorage]:
    settings = BackendSettings(
        driver_name=DRIVER,
        data_dir=Path("/nonexistent"),
        nodes=tuple(NodeSettings(id=name, topology=full(where)) for name, where in nodes.items()),
        options={"pools": list(pools)},
        clock=clock,
        ids=seeded_ids(7),
        mounts=Mounts.NONE,
    )
    async with storage_of(settings, clock) as storage:
        yield storage


@asynccontextmanager
async def storage_of(settings: BackendSettings, clock: RunClock) -> AsyncIterator[StoryStorage]:
    """A driver with a name and topology keys of its own."""
    async with running("pools", settings, Ledger(None)) as driver:
        storage = StoryStorage(driver, settings)
        try:
            yield storage
        finally:
            # Stopping waits for calls under way.
            storage.set_faults()
            await clock.run(timedelta(seconds=1))


def full(topology: Mapping[str, str]) -> dict[str, str]:
    return {f"topology.{DRIVER}/{name}": value for name, value in topology.items()}


PLAIN = ProvisionerFlags(
    namespace=NAMESPACE, pod_name=POD, capacity_ownerref_level=-1, kube_api_qps=0, worker_threads=8
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionerLife:
    """What is particular to one life of the process."""

    seed: int = 1
    cut_after: int | None = None
    """Writes; None: it is not cut off by itself."""
    rule: Rule = open_to_all
    clock: RunClock | None = None
    """That of its machine; None: the one that all others share."""
    mode: ProvisionerMode = ProvisionerMode.DEFAULT
    """Compatible: it stands for csi-provisioner, which knows no intents."""


class RunningProvisioner(StoryLife):
    """One life of the process, but for its sockets and signals."""

    def __init__(
        self,
        cluster: StoryCluster,
        storage: StoryStorage,
        settings: ProvisionerFlags = PLAIN,
        **life: Any,
    ) -> None:
        """`life` has the fields of ProvisionerLife."""
        how = ProvisionerLife(**life)
        check(settings)
        self._clock = how.clock or cluster.clock
        self._process = StoryProcess("provisioner")
        self.metrics = Metrics()
        self.begun: list[str] = []
        self.transport = RefusingTransport(InProcessTransport(cluster.server), how.rule)
        self._link = StoryLink(self._process, self.transport, cut_after=how.cut_after)
        chance = seeded(how.seed)

        def client() -> KubeClient:
            return KubeClient(
                self._link, clock=self._clock, chance=chance, manager="plimsoll-provisioner"
            )

        node = settings.node_name or storage.settings.nodes[0].id
        clients = Clients(
            kube=client(),
            capacity=client(),
            election=client(),
            driver=StoryCsiLink(storage.transport(node)),
            clock=self._clock,
        )
        # Not those of the other processes: names of events are made of them.
        ids = seeded_ids(FIRST_SEED + how.seed)
        identity = ProcessIdentity(
            instance=f"provisioner_{ids.uid()}", ids=ids, metrics=self.metrics
        )
        self._program = ProvisionerProcess(settings, clients, identity, mode=how.mode)
        self._task: asyncio.Task[None] | None = None

    @property
    def has_ended(self) -> bool:
        return self._task is not None and self._task.done()

    async def start(self) -> None:
        self._task = self._process.spawn(self._program.run(self.begun.append))
        await settle()

    def check(self) -> None:
        """Raises if it met with a bug."""
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.result()
        expect_no_restarts(self.metrics)

    def sample(self, start: str) -> float:
        return sum(samples(self.metrics, start))

    async def stop(self) -> None:
        """As by a signal: what it holds is given back, what it has to say is said."""
        if self._task is None:
            return
        self._task.cancel()
        await settle()
        while not self._task.done():
            # It may wait a few seconds for its farewell.
            await self._clock.run(timedelta(seconds=1))
        await asyncio.gather(self._task, return_exceptions=True)

    async def kill(self) -> None:
        """Without any farewell."""
        await self._process.bury()


@asynccontextmanager
async def a_provisioner(
    cluster: StoryCluster, storage: StoryStorage, settings: ProvisionerFlags = PLAIN, **life: Any
) -> AsyncIterator[RunningProvisioner]:
    running_one = RunningProvisioner(cluster, storage, settings, **life)
    await running_one.start()
    try:
        yield running_one
        running_one.check()
    finally:
        await running_one.kill()


async def add_storage_nodes(cluster: StoryCluster, nodes: Nodes = ZONES) -> None:
    """Nodes that the driver is registered on, and the namespace of the provisioner."""
    if await cluster.find("Namespace", NAMESPACE) is None:
        await cluster.create(namespace(NAMESPACE))
    for name, topology in nodes.items():
        await add_node(cluster, name, labels=full(topology))
        await register_driver(cluster, name, topology)


async def register_driver(cluster: StoryCluster, node: str, topology: Mapping[str, str]) -> None:
    entry = {"name": DRIVER, "nodeID": node, "topologyKeys": sorted(full(topology))}
    existing = await cluster.find("CSINode", node)
    if existing is not None:
        await cluster.patch("CSINode", node, {"spec": {"drivers": [entry]}})
        return
    await cluster.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": node},
            "spec": {"drivers": [entry]},
        }
    )


async def unregister_driver(cluster: StoryCluster, node: str) -> None:
    await cluster.patch("CSINode", node, {"spec": {"drivers": []}})


def a_class(name: str = "fast", *, waits: bool = True, **fields: Any) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": DRIVER,
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
    } | fields


def a_csi_driver(*, storage_capacity: bool = True) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": DRIVER},
        "spec": {"storageCapacity": storage_capacity, "attachRequired": False},
    }


def a_secret(name: str = "access", **values: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": "default"},
        "stringData": values,
    }


def is_announcement(lease: Document) -> bool:
    """Whether the lease only says that a provisioner respects holds."""
    return (lease["metadata"].get("labels") or {}).get(RECORD) == PROVISIONER


async def told_zones(cluster: StoryCluster, volume: str) -> list[str]:
    """The zones from which a volume is said to be reachable."""
    found = await cluster.get("PersistentVolume", volume)
    terms = found["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    return sorted(
        value
        for term in terms
        for expression in term["matchExpressions"]
        if expression["key"] == ZONE
        for value in expression["values"]
    )


async def published(cluster: StoryCluster) -> dict[tuple[str, str], str]:
    """What is said about the room, by class and value of the topology."""
    found: dict[tuple[str, str], str] = {}
    for each in await cluster.all("CSIStorageCapacity"):
        labels = each["nodeTopology"].get("matchLabels") or {}
        where = ",".join(labels[key] for key in sorted(labels))
        key = each["storageClassName"], where
        expect(f"{key} is published once", holds=key not in found)
        found[key] = each["capacity"]
    return found
