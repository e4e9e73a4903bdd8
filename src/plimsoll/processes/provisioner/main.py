"""The provisioner process, in csi-provisioner's order: the driver, leadership, the loops."""

import logging
from collections.abc import Callable
from contextlib import AsyncExitStack

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.capacity.names import LEASES, leader_lease_name
from plimsoll.decide.provisioning.protection import SNAPSHOTS
from plimsoll.decide.provisioning.settings import ProvisionerMode
from plimsoll.decide.resources import CLAIMS
from plimsoll.enact.leading import Candidacy
from plimsoll.processes.provisioner.call_metrics import CallMetrics
from plimsoll.processes.provisioner.clients import Clients, clients_of, while_connected
from plimsoll.processes.provisioner.link import DriverLink
from plimsoll.processes.provisioner.loops import ProvisionerParts, makers
from plimsoll.processes.provisioner.settings import ProvisionerFlags
from plimsoll.reconcile.process import (
    LoopProcess,
    OnReady,
    PagesAddress,
    ProcessIdentity,
    run_until_signalled,
    system_identity,
)
from plimsoll.reconcile.running import RunningLoops
from plimsoll.runtime.clock import Clock, SystemClock
from plimsoll.runtime.config import ConfigError, environment
from plimsoll.runtime.leading.leader import ElectionSettings
from plimsoll.runtime.metrics import CONTENT_TYPE, Metrics
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.server import EndpointError, socket_path
from plimsoll.wire.health import OK, Pages, ServedPage
from plimsoll.wire.kubeconfig import KubeconfigEnvironment

log = logging.getLogger(__name__)

UNPATCHABLE = (CLAIMS, SNAPSHOTS, LEASES)
"""The role that csi-provisioner's manifests give it lets us update these, but not patch them."""


class ProvisionerProcess:
    """The whole process but its connections and signals."""

    def __init__(
        self,
        settings: ProvisionerFlags,
        clients: Clients,
        identity: ProcessIdentity,
        *,
        mode: ProvisionerMode = ProvisionerMode.DEFAULT,
    ) -> None:
        self._settings = settings
        self._election_client = clients.election
        self._process = LoopProcess(
            clients.kube, elects=settings.leader_election, identity=identity
        )
        fenced = clients.fenced(self._process.fence)
        calls = CsiClient(fenced.driver, within=settings.timeout)
        self._parts = ProvisionerParts(
            settings=settings,
            clients=fenced,
            link=DriverLink(calls, clients.clock, CallMetrics(identity.metrics)),
            metrics=identity.metrics,
            instance=self._process.instance,
            mode=mode,
        )

    async def run(self, on_begin: Callable[[str], None]) -> None:
        """Until cancelled. Raises LeadershipLostError, KubeError, DriverError, ConfigError."""
        facts = await self._parts.link.introduce(with_node=self._settings.node_deployment)
        log.info("driver found", extra={"driver": facts.name})
        # Before waiting for the leadership: what is wrong is to be known at once.
        made = await makers(self._parts, facts)

        def begin() -> RunningLoops:
            component = f"{facts.name}_{self._process.instance}"
            loops = RunningLoops(made, self._process.environment(component, UNPATCHABLE))
            on_begin(facts.name)
            return loops

        await self._process.lead(begin, self._candidacy(facts.name), self._election_client)

    def _candidacy(self, driver: str) -> Candidacy | None:
        """Raises ConfigError."""
        settings = self._settings
        if not settings.leader_election:
            return None
        try:
            pace = ElectionSettings(
                identity=self._process.instance,
                lease_duration=settings.leader_election_lease_duration,
                renew_deadline=settings.leader_election_renew_deadline,
                retry_period=settings.leader_election_retry_period,
            )
        except ValueError as error:
            raise ConfigError(str(error)) from error
        namespace = settings.leader_election_namespace or "default"
        return Candidacy(
            lease=ObjectKey(namespace, leader_lease_name(driver)),
            pace=pace,
            labels=settings.leader_election_labels,
        )


def pages(metrics: Metrics, path: str) -> Pages:
    shown: Pages = {
        path: lambda: ServedPage(metrics.exposition(), content_type=CONTENT_TYPE),
        "/healthz": lambda: OK,
        # A copy that waits, or leads, is well; one that lost the leadership has ended.
        "/healthz/leader-election": lambda: OK,
    }
    return shown


def address_of(settings: ProvisionerFlags) -> PagesAddress | None:
    """Where to answer for metrics and health. Without a host: everywhere, as probes come from
    outside of the pod; nowhere unless it was asked for. Raises ConfigError."""
    text = settings.http_endpoint or settings.metrics_address
    if not text:
        return None
    host, is_address, port = text.rpartition(":")
    if not is_address or not port.isdigit():
        raise ConfigError(f"--http-endpoint: {text!r} is not of the form host:port or :port")
    return PagesAddress(host=host.strip("[]"), port=int(port))


async def run(settings: ProvisionerFlags, on_ready: OnReady) -> None:
    """Until SIGTERM or SIGINT. Raises DriverLostError when the driver goes away."""
    address, clock, identity = address_of(settings), SystemClock(), system_identity()
    try:
        socket = socket_path(settings.csi_address)
    except EndpointError as error:
        raise ConfigError(f"--csi-address: {error}") from error
    async with AsyncExitStack() as stack:
        transport = GrpcTransport(f"unix:{socket}")
        stack.push_async_callback(transport.close)
        settings = _placed(settings, clock)
        clients = clients_of(settings, transport, clock)
        stack.push_async_callback(clients.close)
        provisioner = ProvisionerProcess(settings, clients, identity)

        async def work(url: str) -> None:
            where = f"; metrics {url}{settings.metrics_path}" if url else ""

            def begun(driver: str) -> None:
                on_ready(f"plimsoll provisioner ready for {driver}{where}")

            await while_connected(transport, provisioner.run(begun))

        await run_until_signalled(work, pages(identity.metrics, settings.metrics_path), address)


def _placed(settings: ProvisionerFlags, clock: Clock) -> ProvisionerFlags:
    """Where candidates meet unless told: in the namespace of the pod, as service accounts know."""
    told = (
        KubeconfigEnvironment(environment=environment(), clock=clock).service_account / "namespace"
    )
    if settings.leader_election_namespace or not told.exists():
        return settings
    return msgspec.structs.replace(settings, leader_election_namespace=told.read_text().strip())
