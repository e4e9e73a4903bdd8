"""Settings of the controller, and what its loops are told of them."""

from collections.abc import Mapping
from datetime import timedelta

import msgspec

from plimsoll.decide.cluster.node_lifecycle.health import GracePeriods
from plimsoll.decide.cluster.node_lifecycle.survey import SurveySettings
from plimsoll.decide.cluster.node_lifecycle.zones import EvictionRates
from plimsoll.decide.repair.repairs import RepairRule
from plimsoll.processes.controller.csi.csi_loop import CsiSettings
from plimsoll.processes.controller.csi.drivers import DriverSources
from plimsoll.processes.controller.storage.repair import RepairSettings
from plimsoll.runtime import config
from plimsoll.runtime.clock import NO_TIME
from plimsoll.runtime.config import ConfigError
from plimsoll.wire.csi.server import EndpointError, socket_path
from plimsoll.wire.csi.transport import CsiTransport

COMPONENT = "plimsoll-controller"
PREFIX = "PLIMSOLL_CONTROLLER"


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


def listed(text: str) -> list[str]:
    """Names that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def repair_settings(settings: ControllerSettings) -> RepairSettings:
    """Raises ConfigError for a rule that does not exist."""
    unknown = [name for name in listed(settings.repair) if name not in list(RepairRule)]
    if unknown:
        raise ConfigError(f"--repair: unknown {', '.join(unknown)}; known: {', '.join(RepairRule)}")
    return RepairSettings(
        rules=frozenset(map(RepairRule, listed(settings.repair))),
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
    addresses = listed(settings.csi_addresses)
    try:
        for address in addresses:
            socket_path(address)
    except EndpointError as error:
        raise ConfigError(f"--csi-address: {error}") from error
    sources = DriverSources(
        addresses=tuple(addresses), transports=transports, within=settings.csi_timeout
    )
    return CsiSettings(sources=sources, tells_metadata=settings.csi_extra_metadata)
