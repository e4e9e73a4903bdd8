"""Settings of the controller, and what its loops are told of them."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.ceph.domain_labels import parse_domain_labels
from plimsoll.decide.ceph.takeover.auto_takeover import BACK_AFTER, LOST_AFTER, AutoTakeoverMode
from plimsoll.decide.cluster.node_lifecycle.health import GracePeriods
from plimsoll.decide.cluster.node_lifecycle.survey import SurveySettings
from plimsoll.decide.cluster.node_lifecycle.zones import EvictionRates
from plimsoll.decide.repair.repairs import RepairRule
from plimsoll.decide.rollback.mode import ROLLBACK_AFTER, RollbackMode
from plimsoll.processes.controller.csi.csi_loop import CsiSettings
from plimsoll.processes.controller.csi.drivers import DriverSources
from plimsoll.processes.controller.in_process.intents import InProcessIntentSettings
from plimsoll.processes.controller.rollback.loop import RollbackSettings
from plimsoll.processes.controller.storage.repair import RepairSettings
from plimsoll.processes.controller.takeover.automatic import AutoTakeoverSettings
from plimsoll.processes.controller.takeover.loop import TakeoverSettings
from plimsoll.reconcile.options import (
    KubeconfigContext,
    KubeconfigPath,
    LeaderElect,
    LeaseDuration,
    LeaseIdentity,
    LeaseNamespace,
    MetricsPort,
    RenewDeadline,
    RetryPeriod,
)
from plimsoll.runtime import config
from plimsoll.runtime.clock import NO_TIME
from plimsoll.runtime.config import ConfigError
from plimsoll.runtime.flags import Flag, PathKind, gather_joined
from plimsoll.wire.csi.server import EndpointError, socket_path
from plimsoll.wire.csi.transport import CsiTransport

COMPONENT = "plimsoll-controller"
PREFIX = "PLIMSOLL_CONTROLLER"
MAP_PARTS = 3


def gather_provisioner_options(texts: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """`NAME:KEY=VALUE`, each. Raises ValueError."""
    found: dict[str, dict[str, str]] = {}
    for text in texts:
        name, colon, option = text.partition(":")
        key, equals, value = option.partition("=")
        if not (name and colon and key and equals):
            raise ValueError(f"{text}: write NAME:KEY=VALUE")
        found.setdefault(name, {})[key] = value
    return found


class ControllerSettings(config.Settings, frozen=True, kw_only=True):
    """Defaults of `plimsoll controller`."""

    kubeconfig: KubeconfigPath = ""
    context: KubeconfigContext = ""
    controllers: Annotated[
        str,
        Meta(
            description="Names of loops, separated by commas; `*`: those that make sense here;"
            " `-name`: without."
        ),
        Flag(
            "Loops to run, separated by commas: '*' for the default, '-name' to leave one out.",
            metavar="LOOP,…",
        ),
    ] = "*"
    leader_elect: LeaderElect = True
    leader_elect_namespace: LeaseNamespace = "kube-system"
    leader_elect_name: Annotated[str, Meta(description="What the lease is called.")] = COMPONENT
    leader_elect_identity: LeaseIdentity = ""
    leader_elect_lease_duration: LeaseDuration = timedelta(seconds=15)
    leader_elect_renew_deadline: RenewDeadline = timedelta(seconds=10)
    leader_elect_retry_period: RetryPeriod = timedelta(seconds=2)
    metrics_port: MetricsPort = 10267
    dynamic_provisioning: Annotated[
        bool,
        Meta(description="Whether any provisioner may make volumes for claims."),
        Flag("Let volumes be made for claims."),
    ] = True
    data_dir: Annotated[
        str,
        Meta(description="Where provisioners inside the controller keep what has to survive."),
        Flag(
            "Where provisioners inside the controller keep what they make.", path=PathKind.DIRECTORY
        ),
    ] = "plimsoll-data"
    provisioners: Annotated[
        dict[str, dict[str, str]],
        Meta(description="Options of provisioners inside the controller, by name."),
        Flag(
            "Set an option of a provisioner, such as plimsoll.dev/host-path:root=/srv/volumes.",
            name="provisioner-option",
            metavar="NAME:KEY=VALUE",
            gather=gather_provisioner_options,
        ),
    ] = msgspec.field(default_factory=dict)
    provisioner_call_limit: Annotated[
        timedelta,
        Meta(
            description="How long a call of a provisioner inside the controller may take. One that"
            " takes longer goes on by itself, and an event says so; what an earlier controller"
            " began is settled after that."
        ),
        Flag(
            "How long a call of a provisioner inside the controller may take. One that takes"
            " longer goes on by itself, and an event says so. After a restart, what was begun"
            " before is settled after that."
        ),
    ] = timedelta(seconds=15)
    csi_addresses: Annotated[
        str,
        Meta(
            description="Unix sockets of CSI drivers, separated by commas; drivers may come"
            " later, and restart."
        ),
        Flag(
            "The unix socket of a CSI driver, for csi-attacher, resizer and snapshotter; may be"
            " given several times. On a real cluster these loops run by default if there is one.",
            name="csi-address",
            metavar="SOCKET",
            gather=gather_joined,
        ),
    ] = ""
    csi_timeout: Annotated[
        timedelta, Meta(description="How long a CSI driver may take for one call."), Flag()
    ] = timedelta(seconds=15)
    csi_probe_period: Annotated[
        timedelta, Meta(description="How often a CSI driver is asked whether it is still there.")
    ] = timedelta(seconds=10)
    csi_extra_metadata: Annotated[
        bool,
        Meta(description="Tell CSI drivers, by parameters, for which objects they take snapshots."),
        Flag("Tell drivers for which objects they take snapshots."),
    ] = False
    node_monitor_grace_period: Annotated[
        timedelta,
        Meta(description="For how long a node may be silent before it counts as not ready."),
        Flag(),
    ] = timedelta(seconds=50)
    node_startup_grace_period: Annotated[
        timedelta,
        Meta(description="For how long a node that has never reported its status may be silent."),
    ] = timedelta(seconds=60)
    node_monitor_period: Annotated[
        timedelta, Meta(description="How often all nodes are looked at.")
    ] = timedelta(seconds=5)
    node_eviction_rate: Annotated[
        float, Meta(description="Of how many nodes per second and zone the pods may be ended.")
    ] = 0.1
    secondary_node_eviction_rate: Annotated[
        float, Meta(description="The same in a zone of which a large part is not ready.")
    ] = 0.01
    large_cluster_size_threshold: Annotated[
        int,
        Meta(description="In such a zone, if it has no more nodes than that, no pods are ended."),
    ] = 50
    unhealthy_zone_threshold: Annotated[
        float,
        Meta(
            description="From which fraction of nodes that are not ready this is the case; three"
            " at least."
        ),
    ] = 0.55
    terminated_pod_gc_threshold: Annotated[
        int,
        Meta(
            description="So many finished pods may stay before the oldest are deleted; 0: all of"
            " them."
        ),
        Flag(
            "How many finished pods may stay before the oldest are deleted; 0: all of them.",
            at_least=0,
        ),
    ] = 12_500
    repair: Annotated[
        str,
        Meta(description="Rules of the repair loop that are switched on, separated by commas."),
        Flag(
            f"Switch repair rules on, separated by commas: {', '.join(RepairRule)}.",
            metavar="RULE,…",
            default="none",
        ),
    ] = ""
    repair_dry_run: Annotated[
        bool, Meta(description="Only tell by events what would be repaired."), Flag()
    ] = False
    repair_per_minute: Annotated[
        int, Meta(description="How many repairs at most."), Flag(at_least=1)
    ] = 10
    repair_node_lost_after: Annotated[
        timedelta,
        Meta(description="How long a node must be gone before volumes on its disks are given up."),
        Flag(),
    ] = timedelta(hours=1)
    rollback: Annotated[
        RollbackMode,
        Meta(
            description="Whether volumes that no pod has used are taken back where they keep a pod"
            " from running, if their class allows it."
        ),
        Flag(
            "Take back volumes that no pod has used and that keep a pod from running, if their"
            " class allows it: off, dry-run (only tell), on."
        ),
    ] = RollbackMode.OFF
    rollback_after: Annotated[
        timedelta,
        Meta(description="How long a pod must have waited for a node before that."),
        Flag(),
    ] = ROLLBACK_AFTER
    takeover: Annotated[
        str,
        Meta(
            description="The CSI driver whose lost domains nodes of other domains take over, as a"
            " config map says; empty: none."
        ),
        Flag(
            "Let nodes of other domains take over lost domains of this CSI driver, as the config"
            " map of --takeover-map says. Its socket is one of --csi-address.",
            metavar="DRIVER",
        ),
    ] = ""
    takeover_labels: Annotated[
        str,
        Meta(
            description="Labels of nodes that tell their domains, the widest first, separated by"
            " commas."
        ),
        Flag(
            "Labels of nodes that tell their domains, the widest first, separated by commas.",
            metavar="LABEL,…",
        ),
    ] = "topology.kubernetes.io/zone"
    takeover_map: Annotated[
        str,
        Meta(
            description="Where the takeover map is: namespace and name of a config map, and the"
            " key in it."
        ),
        Flag(
            "The config map that says which domains take over which, and the key in it.",
            metavar="NAMESPACE/NAME/KEY",
        ),
    ] = "kube-system/plimsoll-takeover/config.json"
    auto_takeover: Annotated[
        AutoTakeoverMode,
        Meta(
            description="Whether the controller itself writes lost domains into the takeover map,"
            " and takes them off when they are back."
        ),
        Flag(
            "Write lost domains into the takeover map, and take them off when they are back: off,"
            " dry-run (only tell), on."
        ),
    ] = AutoTakeoverMode.OFF
    auto_takeover_after: Annotated[
        timedelta,
        Meta(description="How long no node of a domain must have been ready before that."),
        Flag(),
    ] = LOST_AFTER
    auto_giveback_after: Annotated[
        timedelta,
        Meta(description="How long all nodes of a domain must be ready again before that."),
        Flag(),
    ] = BACK_AFTER


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


def intent_settings(settings: ControllerSettings) -> InProcessIntentSettings:
    """An earlier leader may have begun a call until its lease ended; without an election, an
    earlier process may have been about to end. Raises ConfigError."""
    if settings.provisioner_call_limit <= NO_TIME:
        raise ConfigError("provisioner_call_limit: must be longer than nothing")
    ended = NO_TIME if settings.leader_elect else settings.leader_elect_lease_duration
    return InProcessIntentSettings(
        namespace=settings.leader_elect_namespace,
        wait=settings.provisioner_call_limit + ended,
        call_limit=settings.provisioner_call_limit,
    )


def rollback_settings(settings: ControllerSettings) -> RollbackSettings:
    """Raises ConfigError for a time that makes no sense."""
    if settings.rollback_after <= NO_TIME:
        raise ConfigError("--rollback-after: must be longer than nothing")
    return RollbackSettings(
        mode=settings.rollback,
        namespace=settings.leader_elect_namespace,
        after=settings.rollback_after,
    )


def takeover_settings(settings: ControllerSettings) -> TakeoverSettings | None:
    """None: there is no driver for it. Raises ConfigError."""
    auto = AutoTakeoverSettings(
        mode=settings.auto_takeover,
        lost_after=settings.auto_takeover_after,
        back_after=settings.auto_giveback_after,
    )
    if min(auto.lost_after, auto.back_after) <= NO_TIME:
        raise ConfigError("--auto-takeover-after, --auto-giveback-after: must be longer than 0")
    if not settings.takeover:
        if auto.mode is not AutoTakeoverMode.OFF:
            raise ConfigError("--auto-takeover: name the driver by --takeover")
        return None
    try:
        domains = parse_domain_labels(settings.takeover_labels, driver=settings.takeover)
    except ValueError as error:
        raise ConfigError(f"--takeover-labels: {error}") from error
    if not domains.labels:
        raise ConfigError("--takeover-labels: name at least one label")
    namespace, name, entry = _map_place(settings.takeover_map)
    key = ObjectKey(namespace, name)
    return TakeoverSettings(domains=domains, map_key=key, map_entry=entry, auto=auto)


def _map_place(text: str) -> tuple[str, str, str]:
    parts = text.split("/")
    if len(parts) != MAP_PARTS or not all(parts):
        raise ConfigError(f"--takeover-map: {text}: write NAMESPACE/NAME/KEY")
    namespace, name, entry = parts
    return namespace, name, entry


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
    if settings.csi_probe_period <= NO_TIME:
        raise ConfigError("csi_probe_period: must be longer than nothing")
    sources = DriverSources(
        addresses=tuple(addresses),
        transports=transports,
        within=settings.csi_timeout,
        probe_every=settings.csi_probe_period,
    )
    return CsiSettings(sources=sources, tells_metadata=settings.csi_extra_metadata)
