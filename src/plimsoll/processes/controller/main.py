"""The controller process: settings, connection, leadership, signals."""

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.cluster.node_lifecycle.health import GracePeriods
from plimsoll.decide.cluster.node_lifecycle.survey import SurveySettings
from plimsoll.decide.cluster.node_lifecycle.zones import EvictionRates
from plimsoll.decide.csi.snapshots.names import GROUP
from plimsoll.decide.repair.repairs import RepairRule
from plimsoll.enact.leading import lead_alone
from plimsoll.processes.controller.cluster.node_lifecycle import NodeLifecycle
from plimsoll.processes.controller.cluster.pod_gc import PodGarbageCollector, PodGcSettings
from plimsoll.processes.controller.csi.attacher import CsiAttacher
from plimsoll.processes.controller.csi.csi_loop import CsiLoop, CsiSettings
from plimsoll.processes.controller.csi.drivers import DriverSources
from plimsoll.processes.controller.csi.resizer import Resizer
from plimsoll.processes.controller.csi.snapshotter import Snapshotter
from plimsoll.processes.controller.in_process.provisioners.registry import (
    Installation,
    Registry,
    installed,
)
from plimsoll.processes.controller.loops import LOOPS, chosen
from plimsoll.processes.controller.storage.binding import Binding
from plimsoll.processes.controller.storage.repair import Repairs, RepairSettings
from plimsoll.reconcile.running import LoopEnvironment, Make, RunningLoops
from plimsoll.runtime import config
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import NO_TIME, SystemClock
from plimsoll.runtime.config import ConfigError, environment
from plimsoll.runtime.fence import Fence
from plimsoll.runtime.ids import hostname, system_chance, system_ids
from plimsoll.runtime.metrics import Metrics
from plimsoll.runtime.signals import until_signalled
from plimsoll.wire.connect import connect
from plimsoll.wire.csi.server import EndpointError, socket_path
from plimsoll.wire.csi.transport import CsiTransport
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.health import OK, Pages, ServedPage, not_yet, serving, usual_pages
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment

log = logging.getLogger(__name__)

COMPONENT = "plimsoll-controller"
EMBEDDED = "+plimsoll"
"""Part of the version that our own API server calls itself by."""
CONNECT_BACKOFF = Backoff(first=timedelta(milliseconds=500), limit=timedelta(seconds=10))


CSI_LOOPS: Mapping[str, Callable[..., CsiLoop]] = {
    loop.name: loop for loop in (CsiAttacher, Resizer, Snapshotter)
}


class ControllerSettings(config.Settings, frozen=True, kw_only=True):
    """Defaults of `plimsoll controller`."""

    kubeconfig: str = ""
    """Empty: KUBECONFIG, ~/.kube/config, or the service account of the pod we run in."""
    context: str = ""
    controllers: str = "*"
    """Names of loops, separated by commas; `*`: those that make sense here; `-name`: without."""
    leader_elect: bool = True
    """Of several copies only one acts."""
    leader_elect_namespace: str = "kube-system"
    leader_elect_name: str = COMPONENT
    leader_elect_identity: str = ""
    """Who this copy is to the others; empty: the machine's name and an id that is never the same.
    To be set only where something else ensures that no two copies with it ever run."""
    metrics_port: int = 10267
    """On 127.0.0.1, for /metrics, /healthz, /livez and /readyz; 0 takes a free one."""
    dynamic_provisioning: bool = True
    """Whether volumes may be made for claims, by whomever."""
    data_dir: str = "plimsoll-data"
    """Where provisioners inside the controller keep what has to survive."""
    provisioners: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    """Options of provisioners inside the controller, by name."""
    csi_addresses: str = ""
    """Unix sockets of CSI drivers, separated by commas; drivers may come later, and restart."""
    csi_timeout: timedelta = timedelta(seconds=15)
    """How long a CSI driver may take for one call."""
    csi_extra_metadata: bool = False
    """Tell CSI drivers, by parameters, for which objects they take snapshots."""
    node_monitor_grace_period: timedelta = timedelta(seconds=50)
    """For how long a node may be silent before it counts as not ready."""
    node_startup_grace_period: timedelta = timedelta(seconds=60)
    """For how long a node that has never reported its status may be silent."""
    node_monitor_period: timedelta = timedelta(seconds=5)
    """How often all nodes are looked at."""
    node_eviction_rate: float = 0.1
    """Of how many nodes per second and zone the pods may be ended."""
    secondary_node_eviction_rate: float = 0.01
    """The same in a zone of which a large part is not ready."""
    large_cluster_size_threshold: int = 50
    """In such a zone, if it has no more nodes than that, no pods are ended."""
    unhealthy_zone_threshold: float = 0.55
    """From which fraction of nodes that are not ready this is the case; three at least."""
    terminated_pod_gc_threshold: int = 12_500
    """So many finished pods may stay before the oldest are deleted; 0: all of them."""
    repair: str = ""
    """Rules of the repair loop that are switched on, separated by commas."""
    repair_dry_run: bool = False
    """Only tell by events what would be repaired."""
    repair_per_minute: int = 10
    """How many repairs at most."""
    repair_node_lost_after: timedelta = timedelta(hours=1)
    """How long a node must be gone before volumes on its disks are given up."""


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def repair_settings(settings: ControllerSettings) -> RepairSettings:
    """Raises ConfigError for a rule that does not exist."""
    unknown = [name for name in _listed(settings.repair) if name not in list(RepairRule)]
    if unknown:
        raise ConfigError(f"--repair: unknown {', '.join(unknown)}; known: {', '.join(RepairRule)}")
    return RepairSettings(
        rules=frozenset(map(RepairRule, _listed(settings.repair))),
        dry_run=settings.repair_dry_run,
        per_minute=settings.repair_per_minute,
        node_lost_after=settings.repair_node_lost_after,
    )


def survey_settings(settings: ControllerSettings) -> SurveySettings:
    """Raises ConfigError for times and rates that make no sense."""
    times = {
        "node_monitor_period": settings.node_monitor_period,
        "node_monitor_grace_period": settings.node_monitor_grace_period,
        "node_startup_grace_period": settings.node_startup_grace_period,
    }
    for name, duration in times.items():
        if duration <= NO_TIME:
            raise ConfigError(f"{name}: {duration}: must be longer than nothing")
    if settings.node_monitor_grace_period < settings.node_monitor_period:
        raise ConfigError("node_monitor_grace_period: must not be shorter than node_monitor_period")
    return SurveySettings(
        every=settings.node_monitor_period,
        grace=GracePeriods(
            running=settings.node_monitor_grace_period, starting=settings.node_startup_grace_period
        ),
        rates=EvictionRates(
            normal=settings.node_eviction_rate,
            disrupted=settings.secondary_node_eviction_rate,
            large_zone=settings.large_cluster_size_threshold,
            unhealthy_threshold=settings.unhealthy_zone_threshold,
        ),
    )


Transports = Mapping[str, CsiTransport]
"""Drivers in the same process, by name."""
NO_TRANSPORTS: Transports = {}


def csi_settings(
    settings: ControllerSettings, transports: Transports = NO_TRANSPORTS
) -> CsiSettings:
    """Raises ConfigError for an address that is no socket's."""
    addresses = _listed(settings.csi_addresses)
    try:
        for address in addresses:
            socket_path(address)
    except EndpointError as error:
        raise ConfigError(f"--csi-address: {error}") from error
    sources = DriverSources(
        addresses=tuple(addresses), transports=transports, within=settings.csi_timeout
    )
    return CsiSettings(sources=sources, tells_metadata=settings.csi_extra_metadata)


def makers(
    names: list[str], settings: ControllerSettings, transports: Transports = NO_TRANSPORTS
) -> dict[str, Make]:
    """Raises ProvisionerSetupError and ConfigError."""
    found: dict[str, Make] = {name: LOOPS[name].make for name in names}
    csi = csi_settings(settings, transports)
    found |= {name: partial(CSI_LOOPS[name], settings=csi) for name in names if name in CSI_LOOPS}
    if Repairs.name in found:
        found[Repairs.name] = partial(Repairs, settings=repair_settings(settings))
    if PodGarbageCollector.name in found:
        pod_gc = PodGcSettings(terminated_pod_threshold=settings.terminated_pod_gc_threshold)
        found[PodGarbageCollector.name] = partial(PodGarbageCollector, settings=pod_gc)
    if NodeLifecycle.name in found:
        found[NodeLifecycle.name] = partial(NodeLifecycle, settings=survey_settings(settings))
    if Binding.name in found:
        found[Binding.name] = partial(
            Binding,
            provisioners=installed_provisioners(settings),
            provisions=settings.dynamic_provisioning,
        )
    return found


def installed_provisioners(settings: ControllerSettings) -> Registry:
    """Raises ProvisionerSetupError."""
    where = Path(settings.data_dir, "provisioners")
    return installed(Installation(directory=where, options=settings.provisioners))


def check(settings: ControllerSettings) -> None:
    """What can be told to be wrong before any server is asked.

    Raises ConfigError and ProvisionerSetupError.
    """
    repair_settings(settings)
    csi_settings(settings)
    survey_settings(settings)
    if Binding.name in wanted_loops(settings, on_cluster=False):
        installed_provisioners(settings)


def wanted_loops(settings: ControllerSettings, *, on_cluster: bool) -> list[str]:
    """Raises ConfigError for a name that no loop has, and when none is left."""
    names = _listed(settings.controllers)
    try:
        has_driver = bool(settings.csi_addresses)
        found = chosen(tuple(names), on_cluster=on_cluster, has_driver=has_driver)
    except ValueError as error:
        raise ConfigError(f"--controllers: {error}") from error
    # Without rules there is nothing to repair; whoever names rules wants them wherever they run.
    wants_repair = bool(settings.repair) and f"-{Repairs.name}" not in names
    found = [name for name in found if name != Repairs.name] + [Repairs.name] * wants_repair
    if not found:
        where = "a real cluster" if on_cluster else "the embedded server"
        raise ConfigError(f"--controllers: {settings.controllers} leaves nothing to run on {where}")
    return found


async def is_real_cluster(client: KubeClient) -> bool:
    """Waits for a server that cannot be reached. Raises KubeError for one that refuses us."""
    failures = 0
    while True:
        try:
            version = msgspec.json.decode(await client.raw_get("/version"))
        except KubeError as error:
            if not error.is_passing:
                raise
            log.warning("server not reached", extra={"error": str(error)})
            await client.clock.sleep(CONNECT_BACKOFF.delay(failures, client.chance))
            failures += 1
        else:
            return EMBEDDED not in version.get("gitVersion", "")


async def without_missing_kinds(client: KubeClient, names: list[str]) -> list[str]:
    """The loops whose kinds are served: those of snapshots come with definitions of their own."""
    if Snapshotter.name not in names:
        return names
    try:
        await client.raw_get(f"/apis/{GROUP}/v1")
    except KubeError as error:
        if error.failure is not Failure.NOT_FOUND:
            raise
        log.warning("snapshots not served", extra={"loop": Snapshotter.name, "group": GROUP})
        return [name for name in names if name != Snapshotter.name]
    return names


class ControllerProcess:
    """The whole process but its signals. `transports` are drivers inside the same program."""

    def __init__(
        self,
        settings: ControllerSettings,
        client: KubeClient,
        transports: Transports = NO_TRANSPORTS,
    ) -> None:
        self._settings = settings
        self._client = client
        self._transports = transports
        self._metrics = Metrics()
        self._ids = system_ids()
        self._identity = f"{hostname()}_{self._ids.uid()}"
        self._loops: RunningLoops | None = None

    def pages(self) -> Pages:
        return usual_pages(self._metrics, self._ready)

    def _ready(self) -> ServedPage:
        """A copy that waits for leadership has nothing to get ready for."""
        loops = self._loops
        return OK if loops is None or loops.is_synced else not_yet("not everything was seen yet")

    async def run(self, on_begin: Callable[[list[str]], None]) -> None:
        """Until cancelled. Raises LeadershipLostError, ConfigError, KubeError."""
        on_cluster = await is_real_cluster(self._client)
        wanted = wanted_loops(self._settings, on_cluster=on_cluster)
        names = await without_missing_kinds(self._client, wanted)
        if not names:
            raise ConfigError(f"--controllers: the server does not serve {GROUP}/v1")
        made = makers(names, self._settings, self._transports)
        fence = Fence(self._client.clock) if self._settings.leader_elect else None

        async def lead() -> None:
            setting = LoopEnvironment(
                client=self._client,
                component=COMPONENT,
                metrics=self._metrics,
                ids=self._ids,
                chance=self._client.chance,
                instance=self._identity,
                fence=fence,
            )
            self._loops = RunningLoops(made, setting)
            log.info("loops starting", extra={"loops": names})
            on_begin(names)
            await self._loops.run()

        if fence is None:
            await lead()
            return
        lease = ObjectKey(self._settings.leader_elect_namespace, self._settings.leader_elect_name)
        identity = self._settings.leader_elect_identity or self._identity
        await lead_alone(self._client, lease, identity, lead, fence=fence)


async def run(
    settings: ControllerSettings,
    on_serving: Callable[[int], None],
    on_begin: Callable[[list[str]], None],
) -> None:
    """Until SIGTERM or SIGINT; then what is under way is left in a state that can be resumed."""
    check(settings)
    around = KubeconfigEnvironment(environment=environment(), clock=SystemClock())
    wish = ConnectionOptions(kubeconfig=settings.kubeconfig, context=settings.context)
    client = connect(wish, around, system_chance(), manager=COMPONENT)
    process = ControllerProcess(settings, client)
    try:
        async with serving(settings.metrics_port, process.pages()) as port:
            on_serving(port)
            await until_signalled(process.run(on_begin))
    finally:
        await client.close()
