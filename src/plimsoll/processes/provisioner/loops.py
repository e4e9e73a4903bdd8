"""The loops of a provisioner, by what the flags say and what the driver can do."""

import logging
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.capacity.names import managed_by
from plimsoll.decide.capacity.publishing import Publisher
from plimsoll.decide.capacity.reports import CapacitySettings as PublishingSettings
from plimsoll.decide.capacity.tokens import CapacityToken
from plimsoll.decide.provisioning.settings import (
    NodeDeployment,
    ProvisionerMode,
    ProvisionerSettings,
)
from plimsoll.processes.provisioner.capacity.loop import Capacity, CapacityContext
from plimsoll.processes.provisioner.capacity.node_types import load_node_types
from plimsoll.processes.provisioner.capacity.owner import find_owner
from plimsoll.processes.provisioner.claims.loop import Claims
from plimsoll.processes.provisioner.clients import Clients
from plimsoll.processes.provisioner.link import DriverFacts, DriverLink
from plimsoll.processes.provisioner.messages import is_request
from plimsoll.processes.provisioner.operation_metrics import ProvisionerOperationMetrics
from plimsoll.processes.provisioner.settings import ProvisionerFlags
from plimsoll.processes.provisioner.sidecar import CapacityWatcher, NoCapacityWatcher, Pace, Sidecar
from plimsoll.processes.provisioner.sources import ClonedClaims, SnapshotSweep
from plimsoll.processes.provisioner.volumes import Volumes
from plimsoll.reconcile.intents import IntentSettings
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.reconcile.running import Make
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.metrics import Metrics

log = logging.getLogger(__name__)

GET_CAPACITY = "GET_CAPACITY"
CREATE_DELETE_SNAPSHOT = "CREATE_DELETE_SNAPSHOT"
IDENTITIES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionerParts:
    """What the loops are made of."""

    settings: ProvisionerFlags
    clients: Clients
    link: DriverLink
    metrics: Metrics
    instance: str
    """Which of several copies this is."""
    mode: ProvisionerMode = ProvisionerMode.DEFAULT


async def makers(parts: ProvisionerParts, facts: DriverFacts) -> dict[str, Make]:
    """Raises ConfigError and KubeError."""
    settings, clients = parts.settings, parts.clients
    watched = CapacityForwarder()
    sidecar = Sidecar(
        link=parts.link,
        decisions=replace(decisions_of(settings, facts, clients), mode=parts.mode),
        client=clients.kube,
        clock=clients.clock,
        metrics=ProvisionerOperationMetrics(parts.metrics),
        capacity=watched,
    )
    retries = Backoff(first=settings.retry_interval_start, limit=settings.retry_interval_max)
    pace = Pace(workers=settings.worker_threads, retries=retries)
    makers: dict[str, Make] = {
        "claims": partial(Claims, sidecar=sidecar, pace=pace, intents=_intents(settings, facts)),
        "volumes": partial(Volumes, sidecar=sidecar, pace=pace),
        "cloned-claims": partial(ClonedClaims, workers=settings.cloning_protection_threads),
    }
    if settings.snapshot_orphan_sweep_interval > timedelta():
        every = settings.snapshot_orphan_sweep_interval
        makers["snapshot-sweep"] = partial(SnapshotSweep, every=every)
    if settings.enable_capacity and GET_CAPACITY not in facts.controller_capabilities:
        # A driver without it still gets its volumes provisioned.
        log.error("capacity not published: no GET_CAPACITY", extra={"driver": facts.name})
    elif settings.enable_capacity:
        context = await _capacity_context(parts, facts, retries)
        makers["capacity"] = partial(watched.make, context)
    return makers


def _intents(settings: ProvisionerFlags, facts: DriverFacts) -> IntentSettings:
    """An earlier leader may have sent a call until its lease ended; without an election, an earlier
    process may have been about to end."""
    elects = settings.leader_election
    ended = timedelta() if elects else settings.leader_election_lease_duration
    return IntentSettings(
        driver=facts.name,
        namespace=settings.leader_election_namespace or settings.namespace or "default",
        node=settings.node_name if settings.node_deployment else "",
        wait=settings.timeout + ended,
        is_request=is_request,
    )


async def _capacity_context(
    parts: ProvisionerParts, facts: DriverFacts, retries: Backoff
) -> CapacityContext:
    settings, client = parts.settings, parts.clients.capacity
    publishing = PublishingSettings(
        driver=facts.name,
        publisher=managed_by(settings.node_name if settings.node_deployment else ""),
        namespace=settings.namespace,
        owner=await find_owner(settings, client),
        for_immediate_binding=settings.capacity_for_immediate_binding,
        grace=settings.capacity_deletion_delay,
    )
    segment = (facts.segment or {}) if settings.node_deployment else None
    return CapacityContext(
        publisher=Publisher(publishing, local_topology=segment),
        link=parts.link,
        client=client,
        poll_every=settings.capacity_poll_interval,
        threads=settings.capacity_threads,
        holder=settings.pod_name or parts.instance,
        retries=retries,
        watches_nodes=not settings.node_deployment,
        watches_snapshots=CREATE_DELETE_SNAPSHOT in facts.controller_capabilities,
        types=load_node_types(settings.capacity_node_types),
    )


class CapacityForwarder:
    """Implements CapacityWatcher: tells the capacity loop, if there is one."""

    def __init__(self) -> None:
        self._behind: CapacityWatcher = NoCapacityWatcher()

    def make(self, context: CapacityContext, tools: Tools) -> Loop:
        made = Capacity(tools, context=context)
        self._behind = made
        return made

    def token_for_volume(self) -> CapacityToken | None:
        return self._behind.token_for_volume()

    def provisioned(self, volume: PersistentVolume) -> None:
        self._behind.provisioned(volume)

    def deleted(self, volume: PersistentVolume) -> None:
        self._behind.deleted(volume)

    def refused(self, storage_class: str) -> None:
        self._behind.refused(storage_class)

    def undone(self, storage_class: str) -> None:
        self._behind.undone(storage_class)


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
