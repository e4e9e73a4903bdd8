"""What publishing capacity costs the API server, and how much work can pile up.

The provisioner as it runs, on the embedded server in the same event loop, with a driver that
answers at once: storage on the disks of 2,000 nodes, three classes. Time is virtual, so a poll is
counted, not waited for; requests are not held back, so that all of them are seen. Then the driver
does not answer for ten polls, while 1,000 volumes grow.
"""

import asyncio
import gc
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from random import Random

import msgspec
from google.protobuf.wrappers_pb2 import BoolValue

from bench.measurement import Measurement
from plimsoll.api.registry import Document
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.processes.provisioner.clients import Clients
from plimsoll.processes.provisioner.main import ProvisionerProcess
from plimsoll.processes.provisioner.settings import ProvisionerFlags
from plimsoll.reconcile.process import ProcessIdentity
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.ids import seeded_ids
from plimsoll.runtime.metrics import Metrics
from plimsoll.simulator.engine.loop import run_virtually
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.refusing_transport import RefusingTransport
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.inprocess import InProcessCsi
from plimsoll.wire.csi.server import answering
from plimsoll.wire.kube import KubeClient

SEGMENTS, CLASSES = 2_000, ("fast", "slow", "mirrored")
VOLUMES, POLLS = 1_000, 10
DRIVER, HOST, NAMESPACE = "bench.example.com", "topology.bench.example.com/host", "bench"
SETTINGS = msgspec.structs.replace(
    ProvisionerFlags(), enable_capacity=True, namespace=NAMESPACE, capacity_ownerref_level=-1
)
READING = frozenset({"get", "list", "watch"})
Plugin, Controller = csi.PluginCapability, csi.ControllerServiceCapability


class Driver:
    """Says the same of every segment, at once or not at all."""

    def __init__(self) -> None:
        self.free_bytes = 100 * 2**30
        self.answers = asyncio.Event()
        self.answers.set()

    async def probe(self, _: csi.ProbeRequest) -> csi.ProbeResponse:
        return csi.ProbeResponse(ready=BoolValue(value=True))

    async def info(self, _: csi.GetPluginInfoRequest) -> csi.GetPluginInfoResponse:
        return csi.GetPluginInfoResponse(name=DRIVER)

    async def plugin(
        self, _: csi.GetPluginCapabilitiesRequest
    ) -> csi.GetPluginCapabilitiesResponse:
        services = (
            Plugin.Service.CONTROLLER_SERVICE,
            Plugin.Service.VOLUME_ACCESSIBILITY_CONSTRAINTS,
        )
        found = [Plugin(service=Plugin.Service(type=each)) for each in services]
        return csi.GetPluginCapabilitiesResponse(capabilities=found)

    async def controller(
        self, _: csi.ControllerGetCapabilitiesRequest
    ) -> csi.ControllerGetCapabilitiesResponse:
        types = (Controller.RPC.CREATE_DELETE_VOLUME, Controller.RPC.GET_CAPACITY)
        found = [Controller(rpc=Controller.RPC(type=each)) for each in types]
        return csi.ControllerGetCapabilitiesResponse(capabilities=found)

    async def capacity(self, _: csi.GetCapacityRequest) -> csi.GetCapacityResponse:
        await self.answers.wait()
        return csi.GetCapacityResponse(available_capacity=self.free_bytes)

    def transport(self, clock: Clock) -> InProcessCsi:
        table = (
            answering(m.PROBE, self.probe),
            answering(m.GET_PLUGIN_INFO, self.info),
            answering(m.GET_PLUGIN_CAPABILITIES, self.plugin),
            answering(m.CONTROLLER_GET_CAPABILITIES, self.controller),
            answering(m.GET_CAPACITY, self.capacity),
        )
        return InProcessCsi(dict(table), clock)


class Bench:
    def __init__(self, cluster: StoryCluster) -> None:
        self._cluster = cluster
        self._clock = cluster.clock
        self._driver = Driver()
        self._transport = RefusingTransport(InProcessTransport(cluster.server))
        self._metrics = Metrics()

    @property
    def writes(self) -> int:
        return sum(verb not in READING for verb, _ in self._transport.passed)

    @property
    def requests(self) -> int:
        return sum(verb != "watch" for verb, _ in self._transport.passed)

    @property
    def waiting(self) -> int:
        lines = self._metrics.exposition().decode().splitlines()
        [depth] = [line for line in lines if line.startswith('workqueue_depth{name="capacity"}')]
        return int(float(depth.rpartition(" ")[2]))

    async def arrange(self) -> None:
        await self._cluster.create(_of("v1", "Namespace", NAMESPACE))
        for number in range(SEGMENTS):
            name = _host(number)
            node = _of("v1", "Node", name, labels={HOST: name})
            csi_node = _of("storage.k8s.io/v1", "CSINode", name)
            entry = {"name": DRIVER, "nodeID": name, "topologyKeys": [HOST]}
            await self._cluster.create(node, csi_node | {"spec": {"drivers": [entry]}})
        for name in CLASSES:
            class_ = _of("storage.k8s.io/v1", "StorageClass", name)
            late = {"provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"}
            await self._cluster.create(class_ | late)
        for number in range(VOLUMES):
            await self._cluster.create(_volume(number))

    def start(self) -> "asyncio.Future[None]":
        client = KubeClient(self._transport, clock=self._clock, chance=Random(1))
        clients = Clients(
            kube=client,
            capacity=client,
            election=client,
            driver=self._driver.transport(self._clock),
            clock=self._clock,
        )
        identity = ProcessIdentity(instance="provisioner", ids=seeded_ids(9), metrics=self._metrics)
        process = ProvisionerProcess(SETTINGS, clients, identity)
        return asyncio.ensure_future(process.run(lambda _driver: None))

    async def publish(self) -> None:
        await self._clock.run(timedelta(seconds=30))

    async def poll(self) -> None:
        await self._clock.run(SETTINGS.capacity_poll_interval)

    async def change_everywhere(self) -> None:
        self._driver.free_bytes -= 2**30
        await self.poll()

    async def change_somewhere(self) -> None:
        self._driver.free_bytes -= 2**30
        await self._grow(VOLUMES - 1)
        await self._clock.run(timedelta(seconds=1))

    async def _grow(self, number: int) -> None:
        larger = {"spec": {"capacity": {"storage": "2Gi"}}}
        await self._cluster.patch("PersistentVolume", f"volume-{number}", larger)

    async def pile_up(self) -> int:
        """The most that waited while the driver said nothing."""
        self._driver.answers.clear()
        most = 0
        for poll in range(POLLS):
            for number in range(poll, VOLUMES - 1, POLLS):
                await self._grow(number)
            await self.poll()
            most = max(most, self.waiting)
        self._driver.answers.set()
        return most


def _host(number: int) -> str:
    return f"node-{number:05}"


def _of(api_version: str, kind: str, name: str, **metadata: object) -> Document:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name} | metadata}


def _volume(number: int) -> Document:
    expression = {"key": HOST, "operator": "In", "values": [_host(number)]}
    terms = [{"matchExpressions": [expression]}]
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": CLASSES[0],
        "csi": {"driver": DRIVER, "volumeHandle": f"volume-{number}"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        "persistentVolumeReclaimPolicy": "Retain",
    }
    return _of("v1", "PersistentVolume", f"volume-{number}") | {"spec": spec}


def measure_publishing(say: Callable[[str], None]) -> list[Measurement]:
    say(f"  publishing: {SEGMENTS:,} segments, {len(CLASSES)} classes")
    # A driver that does not answer is told of often enough.
    logging.getLogger("plimsoll").setLevel(logging.ERROR)
    return run_virtually(lambda _loop: _measured())


async def _measured() -> list[Measurement]:
    async with a_cluster() as cluster:
        bench = Bench(cluster)
        await bench.arrange()
        running = bench.start()
        try:
            found: list[Measurement] = []
            for what, do in (
                ("start", bench.publish),
                ("poll, nothing changed", bench.poll),
                ("poll, all numbers changed", bench.change_everywhere),
                ("one volume grown", bench.change_somewhere),
            ):
                before = bench.requests, bench.writes
                found.append(await _timed(what, do))
                found.append(_counted(f"{what}: requests", bench.requests - before[0]))
                found.append(_counted(f"{what}: writes", bench.writes - before[1]))
            most = await bench.pile_up()
            found.append(_counted(f"waiting after {VOLUMES:,} volumes, {POLLS} polls", most))
            return found
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def _timed(what: str, do: Callable[[], Awaitable[None]]) -> Measurement:
    gc.collect()
    began = time.process_time()
    await do()
    spent = time.process_time() - began
    return Measurement(name=f"publishing: {what}", value=1e3 * spent, unit="ms", better="lower")


def _counted(what: str, number: int) -> Measurement:
    return Measurement(name=f"publishing: {what}", value=number, unit="", better="lower")
