"""The controller process: which loops it runs, and what each of them is told."""

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.csi.snapshots.names import GROUP
from plimsoll.decide.rollback.mode import RollbackMode
from plimsoll.processes.controller.cluster.node_lifecycle import NodeLifecycle
from plimsoll.processes.controller.cluster.pod_gc import PodGarbageCollector, PodGcSettings
from plimsoll.processes.controller.csi.attacher import CsiAttacher
from plimsoll.processes.controller.csi.csi_loop import CsiLoop
from plimsoll.processes.controller.csi.resizer import Resizer
from plimsoll.processes.controller.csi.snapshotter import Snapshotter
from plimsoll.processes.controller.in_process.provisioners.registry import (
    Installation,
    Registry,
    installed,
)
from plimsoll.processes.controller.loops import LOOPS, chosen
from plimsoll.processes.controller.rollback.loop import Rollbacks
from plimsoll.processes.controller.settings import (
    COMPONENT,
    NO_TRANSPORTS,
    ControllerSettings,
    Transports,
    csi_settings,
    intent_settings,
    listed,
    repair_settings,
    rollback_settings,
    survey_settings,
    takeover_settings,
)
from plimsoll.processes.controller.storage.binding import Binding
from plimsoll.processes.controller.storage.repair import Repairs
from plimsoll.processes.controller.takeover.loop import DomainTakeovers
from plimsoll.reconcile.process import (
    LoopProcess,
    OnReady,
    PagesAddress,
    ProcessIdentity,
    connected,
    run_until_signalled,
)
from plimsoll.reconcile.running import Make, RunningLoops
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.config import ConfigError
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kube import KubeClient

log = logging.getLogger(__name__)

EMBEDDED = "+plimsoll"
"""Part of the version that our own API server gives."""
CONNECT_BACKOFF = Backoff(first=timedelta(milliseconds=500), limit=timedelta(seconds=10))


CSI_LOOPS: Mapping[str, Callable[..., CsiLoop]] = {
    loop.name: loop for loop in (CsiAttacher, Resizer, Snapshotter)
}


def makers(
    names: list[str],
    settings: ControllerSettings,
    transports: Transports = NO_TRANSPORTS,
    provisioners: Registry | None = None,
) -> dict[str, Make]:
    """Raises ProvisionerSetupError and ConfigError."""
    found: dict[str, Make] = {name: LOOPS[name].make for name in names}
    csi = csi_settings(settings, transports)
    found |= {name: partial(CSI_LOOPS[name], settings=csi) for name in names if name in CSI_LOOPS}
    if Repairs.name in found:
        found[Repairs.name] = partial(Repairs, settings=repair_settings(settings))
    if Rollbacks.name in found:
        wanted = rollback_settings(settings)
        found[Rollbacks.name] = partial(Rollbacks, settings=csi, rollback=wanted)
    if DomainTakeovers.name in found:
        taken = takeover_settings(settings)
        found[DomainTakeovers.name] = partial(DomainTakeovers, settings=csi, takeover=taken)
    if PodGarbageCollector.name in found:
        pod_gc = PodGcSettings(terminated_pod_threshold=settings.terminated_pod_gc_threshold)
        found[PodGarbageCollector.name] = partial(PodGarbageCollector, settings=pod_gc)
    if NodeLifecycle.name in found:
        found[NodeLifecycle.name] = partial(NodeLifecycle, settings=survey_settings(settings))
    if Binding.name in found:
        found[Binding.name] = partial(
            Binding,
            provisioners=provisioners or installed_provisioners(settings),
            provisions=settings.dynamic_provisioning,
            intents=intent_settings(settings),
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
    rollback_settings(settings)
    takeover_settings(settings)
    csi_settings(settings)
    survey_settings(settings)
    intent_settings(settings)
    if Binding.name in wanted_loops(settings, on_cluster=False):
        installed_provisioners(settings)


def wanted_loops(settings: ControllerSettings, *, on_cluster: bool) -> list[str]:
    """Raises ConfigError for a name that no loop has, and when none is left."""
    names = listed(settings.controllers)
    try:
        has_driver = bool(settings.csi_addresses)
        found = chosen(tuple(names), on_cluster=on_cluster, has_driver=has_driver)
    except ValueError as error:
        raise ConfigError(f"--controllers: {error}") from error
    # What has to be asked for runs on every cluster once it is.
    asked = {
        Repairs.name: bool(settings.repair),
        Rollbacks.name: settings.rollback is not RollbackMode.OFF,
        DomainTakeovers.name: bool(settings.takeover),
    }
    found = [name for name in found if name not in asked] + [
        name for name, is_asked in asked.items() if is_asked and f"-{name}" not in names
    ]
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
        identity: ProcessIdentity | None = None,
        *,
        provisioners: Registry | None = None,
    ) -> None:
        """`provisioners` are those inside the process; None: whatever is installed."""
        self._settings = settings
        self._provisioners = provisioners
        self._client = client
        self._transports = transports
        self._process = LoopProcess(client, elects=settings.leader_elect, identity=identity)
        self.pages = self._process.pages

    async def run(self, on_begin: Callable[[list[str]], None]) -> None:
        """Until cancelled. Raises LeadershipLostError, ConfigError, KubeError."""
        on_cluster = await is_real_cluster(self._client)
        wanted = wanted_loops(self._settings, on_cluster=on_cluster)
        names = await without_missing_kinds(self._client, wanted)
        if not names:
            raise ConfigError(f"--controllers: the server does not serve {GROUP}/v1")
        made = makers(names, self._settings, self._transports, self._provisioners)

        def begin() -> RunningLoops:
            loops = RunningLoops(made, self._process.environment(COMPONENT))
            log.info("loops starting", extra={"loops": names})
            on_begin(names)
            return loops

        lease = ObjectKey(self._settings.leader_elect_namespace, self._settings.leader_elect_name)
        await self._process.lead(begin, self._process.candidacy(lease, self._settings))


async def run(settings: ControllerSettings, on_ready: OnReady) -> None:
    """Until SIGTERM or SIGINT; then what is under way is left in a state that can be resumed."""
    check(settings)
    async with connected(settings, COMPONENT) as client:
        process = ControllerProcess(settings, client)

        async def work(url: str) -> None:
            ready = f"plimsoll controller ready; metrics {url}/metrics; loops "
            await process.run(lambda names: on_ready(ready + ", ".join(names)))

        address = PagesAddress(port=settings.metrics_port)
        await run_until_signalled(work, process.pages(), address)
