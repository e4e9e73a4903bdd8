"""The provisioner process, in csi-provisioner's order: the driver, leadership, the loops."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.capacity.names import LEASES, leader_lease_name, managed_by
from plimsoll.decide.capacity.publishing import Publisher
from plimsoll.decide.capacity.reports import CapacitySettings as PublishingSettings
from plimsoll.decide.claims.writes import CLAIMS
from plimsoll.decide.provisioning.protection import SNAPSHOTS
from plimsoll.decide.provisioning.settings import NodeDeployment, ProvisionerSettings
from plimsoll.enact.leading import Candidacy, lead_as
from plimsoll.processes.provisioner.call_metrics import CallMetrics
from plimsoll.processes.provisioner.capacity.loop import Capacity, CapacityMeans
from plimsoll.processes.provisioner.capacity.node_types import load_node_types
from plimsoll.processes.provisioner.capacity.owner import find_owner
from plimsoll.processes.provisioner.claims import Claims
from plimsoll.processes.provisioner.link import DriverFacts, DriverLink
from plimsoll.processes.provisioner.operation_metrics import ProvisionerOperationMetrics
from plimsoll.processes.provisioner.settings import ProvisionerFlags
from plimsoll.processes.provisioner.sidecar import NobodyWatches, Pace, RoomWatcher, Sidecar
from plimsoll.processes.provisioner.sources import ClonedClaims, SnapshotSweep
from plimsoll.processes.provisioner.volumes import Volumes
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.reconcile.running import LoopEnvironment, Make, RunningLoops
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import Clock, SystemClock
from plimsoll.runtime.config import ConfigError, environment
from plimsoll.runtime.fence import Fence
from plimsoll.runtime.ids import Ids, hostname, system_chance, system_ids
from plimsoll.runtime.leader import ElectionSettings
from plimsoll.runtime.metrics import CONTENT_TYPE, Metrics
from plimsoll.runtime.signals import until_signalled
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.fenced import FencedCsi
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.server import EndpointError, socket_path
from plimsoll.wire.csi.transport import CsiTransport
from plimsoll.wire.health import OK, Pages, ServedPage, serving
from plimsoll.wire.http import HttpTransport
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment, find_access
from plimsoll.wire.limited import LimitedTransport

log = logging.getLogger(__name__)

COMPONENT = "plimsoll-provisioner"
GET_CAPACITY = "GET_CAPACITY"
CREATE_DELETE_SNAPSHOT = "CREATE_DELETE_SNAPSHOT"
IDENTITIES = 10_000
UNPATCHABLE = (CLAIMS, SNAPSHOTS, LEASES)
"""The role that csi-provisioner's manifests give it lets us update these, but not patch them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """Whom the process talks to."""

    kube: KubeClient
    capacity: KubeClient
    """For capacity objects: slower, so that they never keep provisioning waiting."""
    election: KubeClient
    """For the lease of the leader: whoever has to wait for his turn loses it."""
    driver: CsiTransport
    clock: Clock

    def fenced(self, fence: Fence) -> "Clients":
        """All but the one for the election, which has to get through."""
        return replace(
            self,
            kube=self.kube.fenced(fence),
            capacity=self.capacity.fenced(fence),
            driver=FencedCsi(self.driver, fence),
        )

    async def close(self) -> None:
        for client in (self.kube, self.capacity, self.election):
            await client.close()


class DriverLostError(Exception):
    """The connection to the driver broke: the process has to be started again."""


class ProvisionerProcess:
    """The whole process but its connections and signals."""

    def __init__(
        self, settings: ProvisionerFlags, clients: Clients, ids: Ids, metrics: Metrics
    ) -> None:
        self._settings = settings
        is_alone = not settings.leader_election
        self._fence = Fence.left_open(clients.clock) if is_alone else Fence(clients.clock)
        self._clients = clients = clients.fenced(self._fence)
        self._metrics = metrics
        self._instance = f"{hostname()}_{ids.uid()}"
        self._ids = ids
        self._link = DriverLink(
            CsiClient(clients.driver, within=settings.timeout),
            clients.clock,
            CallMetrics(metrics),
        )

    async def run(self, on_begin: Callable[[str], None]) -> None:
        """Until cancelled. Raises LeadershipLostError, KubeError, DriverError, ConfigError."""
        settings = self._settings
        facts = await self._link.introduce(with_node=settings.node_deployment)
        log.info("driver found", extra={"driver": facts.name})
        # Before waiting for the leadership: what is wrong is to be known at once.
        makers = await self._makers(facts)
        lead = partial(self._lead, facts, makers, on_begin)
        if not settings.leader_election:
            await lead()
            return
        try:
            pace = ElectionSettings(
                identity=self._instance,
                lease_duration=settings.leader_election_lease_duration,
                renew_deadline=settings.leader_election_renew_deadline,
                retry_period=settings.leader_election_retry_period,
            )
        except ValueError as error:
            raise ConfigError(str(error)) from error
        namespace = settings.leader_election_namespace or "default"
        candidacy = Candidacy(
            lease=ObjectKey(namespace, leader_lease_name(facts.name)),
            pace=pace,
            labels=settings.leader_election_labels,
        )
        await lead_as(self._clients.election, candidacy, lead, fence=self._fence)

    async def _lead(
        self, facts: DriverFacts, makers: dict[str, Make], on_begin: Callable[[str], None]
    ) -> None:
        setting = LoopEnvironment(
            client=self._clients.kube,
            component=f"{facts.name}_{self._instance}",
            metrics=self._metrics,
            ids=self._ids,
            chance=self._clients.kube.chance,
            instance=self._instance,
            unpatchable=UNPATCHABLE,
            fence=self._fence,
        )
        loops = RunningLoops(makers, setting)
        on_begin(facts.name)
        await loops.run()

    async def _makers(self, facts: DriverFacts) -> dict[str, Make]:
        settings, decisions = self._settings, decisions_of(self._settings, facts, self._clients)
        watched = RoomDoor()
        sidecar = Sidecar(
            link=self._link,
            decisions=decisions,
            client=self._clients.kube,
            clock=self._clients.clock,
            metrics=ProvisionerOperationMetrics(self._metrics),
            room=watched,
        )
        retries = Backoff(first=settings.retry_interval_start, limit=settings.retry_interval_max)
        pace = Pace(workers=settings.worker_threads, retries=retries)
        makers: dict[str, Make] = {
            "claims": partial(Claims, sidecar=sidecar, pace=pace),
            "volumes": partial(Volumes, sidecar=sidecar, pace=pace),
            "cloned-claims": partial(ClonedClaims, workers=settings.cloning_protection_threads),
        }
        if settings.snapshot_orphan_sweep_interval > timedelta():
            every = settings.snapshot_orphan_sweep_interval
            makers["snapshot-sweep"] = partial(SnapshotSweep, every=every)
        if settings.enable_capacity and GET_CAPACITY not in facts.controller_capabilities:
            # Whoever only wants volumes gets them.
            log.error("capacity not published: no GET_CAPACITY", extra={"driver": facts.name})
        elif settings.enable_capacity:
            means = await self._capacity_means(facts, retries)
            makers["capacity"] = partial(watched.make, means)
        return makers

    async def _capacity_means(self, facts: DriverFacts, retries: Backoff) -> CapacityMeans:
        settings, client = self._settings, self._clients.capacity
        publishing = PublishingSettings(
            driver=facts.name,
            publisher=managed_by(settings.node_name if settings.node_deployment else ""),
            namespace=settings.namespace,
            owner=await find_owner(settings, client),
            for_immediate_binding=settings.capacity_for_immediate_binding,
            grace=settings.capacity_deletion_delay,
        )
        segment = (facts.segment or {}) if settings.node_deployment else None
        return CapacityMeans(
            publisher=Publisher(publishing, local_topology=segment),
            link=self._link,
            client=client,
            poll_every=settings.capacity_poll_interval,
            threads=settings.capacity_threads,
            holder=settings.pod_name or self._instance,
            retries=retries,
            watches_nodes=not settings.node_deployment,
            watches_snapshots=CREATE_DELETE_SNAPSHOT in facts.controller_capabilities,
            types=load_node_types(settings.capacity_node_types),
        )


class RoomDoor:
    """Implements RoomWatcher: tells whoever publishes capacity, if anybody does."""

    def __init__(self) -> None:
        self._behind: RoomWatcher = NobodyWatches()

    def make(self, means: CapacityMeans, tools: Tools) -> Loop:
        made = Capacity(tools, means=means)
        self._behind = made
        return made

    def provisioned(self, volume: PersistentVolume) -> None:
        self._behind.provisioned(volume)

    def deleted(self, volume: PersistentVolume) -> None:
        self._behind.deleted(volume)

    def refused(self, storage_class: str) -> None:
        self._behind.refused(storage_class)


def decisions_of(
    settings: ProvisionerFlags, facts: DriverFacts, clients: Clients
) -> ProvisionerSettings:
    """What decisions need to know of the flags and of the driver."""
    started_ms = round(clients.clock.now().timestamp() * 1000)
    number = clients.kube.chance.randrange(IDENTITIES)
    identity = f"{started_ms}-{number}-{facts.name}"
    node = None
    if settings.node_deployment:
        identity += f"-{settings.node_name}"
        node = NodeDeployment(
            node_name=settings.node_name,
            node_id=facts.node_id,
            segment=facts.segment,
            takes_immediate_claims=settings.node_deployment_immediate_binding,
            first_delay=settings.node_deployment_base_delay,
            longest_delay=settings.node_deployment_max_delay,
        )
    length = settings.volume_name_uuid_length
    topology = {"VOLUME_ACCESSIBILITY_CONSTRAINTS"} if not settings.is_on("Topology") else set()
    return ProvisionerSettings(
        driver=facts.name,
        identity=identity,
        plugin_capabilities=facts.plugin_capabilities - topology,
        controller_capabilities=facts.controller_capabilities,
        volume_name_prefix=settings.volume_name_prefix,
        volume_name_uuid_length=None if length < 0 else length,
        default_fs_type=settings.default_fstype,
        extra_create_metadata=settings.extra_create_metadata,
        strict_topology=settings.strict_topology,
        immediate_topology=settings.immediate_topology,
        controller_publish_readonly=settings.controller_publish_readonly,
        prevent_volume_mode_conversion=settings.prevent_volume_mode_conversion,
        attributes_classes=settings.is_on("VolumeAttributesClass"),
        node=node,
    )


def pages(metrics: Metrics, path: str) -> Pages:
    shown: Pages = {
        path: lambda: ServedPage(metrics.exposition(), content_type=CONTENT_TYPE),
        "/healthz": lambda: OK,
        # A copy that waits, or leads, is well; one that lost the leadership has ended.
        "/healthz/leader-election": lambda: OK,
    }
    return shown


def address_of(settings: ProvisionerFlags) -> tuple[str, int] | None:
    """Where to answer for metrics and health. Without a host: everywhere, as probes come from
    outside of the pod; nowhere unless it was asked for."""
    text = settings.http_endpoint or settings.metrics_address
    if not text:
        return None
    host, is_address, port = text.rpartition(":")
    if not is_address or not port.isdigit():
        raise ConfigError(f"--http-endpoint: {text!r} is not of the form host:port or :port")
    return host.strip("[]"), int(port)


async def run(
    settings: ProvisionerFlags, on_serving: Callable[[int], None], on_begin: Callable[[str], None]
) -> None:
    """Until SIGTERM or SIGINT. Raises DriverLostError when the driver goes away.

    `on_serving` gets the port of metrics and health, where they were asked for.
    """
    address, clock, metrics = address_of(settings), SystemClock(), Metrics()
    try:
        socket = socket_path(settings.csi_address)
    except EndpointError as error:
        raise ConfigError(f"--csi-address: {error}") from error
    async with AsyncExitStack() as stack:
        transport = GrpcTransport(f"unix:{socket}")
        stack.push_async_callback(transport.close)
        settings = _placed(settings, clock)
        clients = _clients(settings, transport, clock)
        stack.push_async_callback(clients.close)
        if address is not None:
            shown = pages(metrics, settings.metrics_path)
            served = serving(address[1], shown, host=address[0])
            on_serving(await stack.enter_async_context(served))
        provisioner = ProvisionerProcess(settings, clients, system_ids(), metrics)
        await until_signalled(_while_connected(transport, provisioner.run(on_begin)))


async def _while_connected(transport: GrpcTransport, running: Coroutine[Any, Any, None]) -> None:
    work, lost = asyncio.ensure_future(running), asyncio.ensure_future(transport.lost())
    try:
        await asyncio.wait((work, lost), return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended = work.done()
        for task in (work, lost):
            task.cancel()
        await asyncio.gather(work, lost, return_exceptions=True)
    if not ended:
        raise DriverLostError("the connection to the driver is lost; start again")
    work.result()


def _placed(settings: ProvisionerFlags, clock: Clock) -> ProvisionerFlags:
    """Where candidates meet unless told: in the namespace of the pod, as service accounts know."""
    told = (
        KubeconfigEnvironment(environment=environment(), clock=clock).service_account / "namespace"
    )
    if settings.leader_election_namespace or not told.exists():
        return settings
    return msgspec.structs.replace(settings, leader_election_namespace=told.read_text().strip())


def _clients(settings: ProvisionerFlags, driver: CsiTransport, clock: Clock) -> Clients:
    around = KubeconfigEnvironment(environment=environment(), clock=clock)
    access = find_access(ConnectionOptions(kubeconfig=settings.kubeconfig), around)
    if settings.master:
        access = replace(access, server=settings.master)

    def client(per_second: float, burst: int) -> KubeClient:
        http = HttpTransport(access, user_agent=COMPONENT)
        limited = LimitedTransport(http, clock, per_second=per_second, burst=burst)
        return KubeClient(limited, clock=clock, chance=system_chance(), manager=COMPONENT)

    return Clients(
        kube=client(settings.kube_api_qps, settings.kube_api_burst),
        capacity=client(settings.kube_api_capacity_qps, settings.kube_api_capacity_burst),
        election=client(settings.kube_api_qps, settings.kube_api_burst),
        driver=driver,
        clock=clock,
    )
