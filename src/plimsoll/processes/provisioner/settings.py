"""The flags of csi-provisioner, with their defaults, and what they must be together.

Names and defaults are csi-provisioner's, so that manifests written for it work unchanged.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from plimsoll.runtime import config
from plimsoll.runtime.config import ConfigError, Sources, load_settings

GATES = {
    "Topology": True,
    "VolumeAttributesClass": True,
    "CrossNamespaceVolumeDataSource": False,
    "ReleaseLeaderElectionOnExit": False,
}
"""Feature gates and their defaults."""
WITHOUT_EFFECT = frozenset(
    {"AllAlpha", "AllBeta", "ContextualLogging", "LoggingAlphaOptions", "LoggingBetaOptions"}
)
"""Gates that every program of the kind knows."""


class ProvisionerFlags(config.Settings, frozen=True, kw_only=True):
    """Defaults of `plimsoll provisioner`."""

    csi_address: str = "/run/csi/socket"
    """The driver's socket. When the connection is lost, the process ends and is started again."""
    kubeconfig: str = ""
    """Empty: KUBECONFIG, ~/.kube/config, or the service account of the pod we run in."""
    master: str = ""
    """Overrides the server's address in the kubeconfig."""
    volume_name_prefix: str = "pvc"
    """Volumes are called by this, a dash and the uid of their claim."""
    volume_name_uuid_length: int = -1
    """How much of the uid is used, its dashes left out; -1: all of it as it is."""
    timeout: timedelta = timedelta(seconds=10)
    """How long one call to the driver may take."""
    retry_interval_start: timedelta = timedelta(seconds=1)
    """The first pause after a failure; it doubles with each further one."""
    retry_interval_max: timedelta = timedelta(minutes=5)
    """The longest pause after a failure."""
    worker_threads: int = 100
    """How many claims, and how many volumes, are worked on at once."""
    cloning_protection_threads: int = 1
    """How many sources of clones are released at once."""
    snapshot_orphan_sweep_interval: timedelta = timedelta(minutes=5)
    """How often finalizers left on snapshots are looked for; 0: never."""
    capacity_threads: int = 1
    """How many GetCapacity calls are under way at once."""
    strict_topology: bool = False
    """Late binding: ask for the segment of the selected node and no other."""
    immediate_topology: bool = True
    """Immediate binding: ask for a volume somewhere in the cluster; otherwise ask for nothing."""
    extra_create_metadata: bool = False
    """Tell the driver the names of claim and volume."""
    default_fstype: str = ""
    """The file system for classes that name none."""
    controller_publish_readonly: bool = False
    """Mark volumes that are only ever read as read-only."""
    prevent_volume_mode_conversion: bool = True
    """A snapshot becomes a volume of another mode only if its content allows it."""
    enable_capacity: bool = False
    """Publish CSIStorageCapacity objects. Needs NAMESPACE, and POD_NAME for an owner."""
    capacity_poll_interval: timedelta = timedelta(minutes=1)
    """How often the driver is asked even when nothing happened."""
    capacity_ownerref_level: int = 1
    """Who owns the objects: 0 the pod, 1 its controller, 2 the controller of that; -1 nobody."""
    capacity_for_immediate_binding: bool = False
    """Publish for classes that bind immediately, too."""
    capacity_deletion_delay: timedelta = timedelta(minutes=2)
    """How long a segment may be missing before its objects are deleted: drivers restart."""
    capacity_node_types: str = ""
    """A file with node types for which the cluster autoscaler finds capacity beforehand."""
    kube_api_qps: float = 5
    """Requests per second to the API server."""
    kube_api_burst: int = 10
    """Requests at once to the API server."""
    kube_api_capacity_qps: float = 1
    """Requests per second for capacity objects."""
    kube_api_capacity_burst: int = 5
    """Requests at once for capacity objects."""
    node_deployment: bool = False
    """Run beside the driver on each node, for that node alone. Needs NODE_NAME."""
    node_deployment_immediate_binding: bool = True
    """With node deployment: also serve claims that bind immediately."""
    node_deployment_base_delay: timedelta = timedelta(seconds=20)
    """With node deployment: how long to wait before taking such a claim."""
    node_deployment_max_delay: timedelta = timedelta(seconds=60)
    """With node deployment: the longest such wait, after others were faster."""
    leader_election: bool = False
    """Act only while holding the Lease named like the driver."""
    leader_election_namespace: str = ""
    """Where the Lease is; empty: POD_NAMESPACE, or the namespace of the service account."""
    leader_election_lease_duration: timedelta = timedelta(seconds=15)
    """How long a Lease that is not renewed keeps others from acting."""
    leader_election_renew_deadline: timedelta = timedelta(seconds=10)
    """How long a leader tries to renew before it gives up."""
    leader_election_retry_period: timedelta = timedelta(seconds=5)
    """How often the Lease is looked at."""
    leader_election_labels: dict[str, str] = msgspec.field(default_factory=dict)
    """Labels of the Lease."""
    http_endpoint: str = ""
    """Where to answer for metrics and health, as `:8080`, on all addresses; empty: nowhere."""
    metrics_address: str = ""
    """The older name of http-endpoint; only one of them may be given."""
    metrics_path: str = "/metrics"
    """Where metrics are found."""
    feature_gates: dict[str, bool] = msgspec.field(default_factory=dict)
    """Feature gates that differ from their defaults."""
    namespace: str = ""
    """From NAMESPACE: where the sidecar runs, and where capacity objects go."""
    pod_name: str = ""
    """From POD_NAME: the pod whose controller owns the capacity objects."""
    node_name: str = ""
    """From NODE_NAME: the node of a node deployment."""

    def is_on(self, gate: str) -> bool:
        return self.feature_gates.get(gate, GATES[gate])


FROM_THE_ENVIRONMENT = {"NAMESPACE": "namespace", "POD_NAME": "pod_name", "NODE_NAME": "node_name"}
POSITIVE = ("worker_threads", "cloning_protection_threads", "capacity_threads")
LASTING = ("timeout", "retry_interval_start", "retry_interval_max", "capacity_poll_interval")


def load(environment: Mapping[str, str], flags: Mapping[str, Any]) -> ProvisionerFlags:
    """Raises ConfigError."""
    given = {field: environment.get(name) for name, field in FROM_THE_ENVIRONMENT.items()}
    settings = load_settings(ProvisionerFlags, Sources(flags={**given, **flags}))
    # As with csi-provisioner: the environment wins over the flag.
    kubeconfig = environment.get("KUBECONFIG") or settings.kubeconfig
    candidates = settings.leader_election_namespace or environment.get("POD_NAMESPACE", "")
    settings = msgspec.structs.replace(
        settings, kubeconfig=kubeconfig, leader_election_namespace=candidates
    )
    check(settings)
    return settings


def check(settings: ProvisionerFlags) -> None:
    """Raises ConfigError for flags that contradict each other, or lack what they need."""
    for problem in _problems(settings):
        raise ConfigError(problem)


def _problems(settings: ProvisionerFlags) -> list[str]:
    unknown = sorted(settings.feature_gates.keys() - GATES.keys() - WITHOUT_EFFECT)
    few = _flags(name for name in POSITIVE if getattr(settings, name) < 1)
    short = _flags(name for name in LASTING if getattr(settings, name) <= timedelta())
    checks = {
        f"--feature-gates: unknown {', '.join(unknown)}; known: {', '.join(GATES)}": bool(unknown),
        "--volume-name-prefix: must not be empty": not settings.volume_name_prefix,
        "--volume-name-uuid-length: a uid has 32 digits, so at most 32": (
            settings.volume_name_uuid_length > 32  # noqa: PLR2004 - hexadecimal digits of a uid
        ),
        "--http-endpoint and --metrics-address: only one of them may be given": bool(
            settings.http_endpoint and settings.metrics_address
        ),
        "--node-deployment: NODE_NAME must be set in the environment": (
            settings.node_deployment and not settings.node_name
        ),
        "--node-deployment: each node acts for itself, so --leader-election makes no sense": (
            settings.node_deployment and settings.leader_election
        ),
        "--enable-capacity: NAMESPACE must be set in the environment": (
            settings.enable_capacity and not settings.namespace
        ),
        "--capacity-ownerref-level: POD_NAME must be set in the environment, or the level be -1": (
            settings.enable_capacity
            and settings.capacity_ownerref_level >= 0
            and not settings.pod_name
        ),
        f"{few}: must be at least 1": bool(few),
        f"{short}: must be longer than nothing": bool(short),
    }
    return [problem for problem, is_wrong in checks.items() if is_wrong]


def _flags(names: Iterable[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)
