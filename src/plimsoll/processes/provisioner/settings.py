"""The flags of csi-provisioner, with their defaults, and what they must be together.

Names and defaults are csi-provisioner's, so that manifests written for it work unchanged.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from plimsoll.runtime import config
from plimsoll.runtime.config import ConfigError, Sources, load_settings
from plimsoll.runtime.flags import Flag

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

    csi_address: Annotated[
        str,
        Flag(
            "The driver's socket. When the connection is lost, the process ends and"
            " is started again."
        ),
    ] = "/run/csi/socket"
    kubeconfig: Annotated[
        str, Flag("Empty: KUBECONFIG, ~/.kube/config, or the service account of the pod we run in.")
    ] = ""
    master: Annotated[str, Flag("Overrides the server's address in the kubeconfig.")] = ""
    volume_name_prefix: Annotated[
        str, Flag("Volumes are called by this, a dash and the uid of their claim.")
    ] = "pvc"
    volume_name_uuid_length: Annotated[
        int, Flag("How much of the uid is used, its dashes left out; -1: all of it as it is.")
    ] = -1
    timeout: Annotated[timedelta, Flag("How long one call to the driver may take.")] = timedelta(
        seconds=10
    )
    retry_interval_start: Annotated[
        timedelta, Flag("The first pause after a failure; it doubles with each further one.")
    ] = timedelta(seconds=1)
    retry_interval_max: Annotated[timedelta, Flag("The longest pause after a failure.")] = (
        timedelta(minutes=5)
    )
    worker_threads: Annotated[
        int, Flag("How many claims, and how many volumes, are worked on at once.")
    ] = 100
    cloning_protection_threads: Annotated[
        int, Flag("How many sources of clones are released at once.")
    ] = 1
    snapshot_orphan_sweep_interval: Annotated[
        timedelta, Flag("How often finalizers left on snapshots are looked for; 0: never.")
    ] = timedelta(minutes=5)
    capacity_threads: Annotated[int, Flag("How many GetCapacity calls are under way at once.")] = 1
    strict_topology: Annotated[
        bool, Flag("Delayed binding: ask for the segment of the selected node and no other.")
    ] = False
    immediate_topology: Annotated[
        bool,
        Flag(
            "Immediate binding: ask for a volume somewhere in the cluster; otherwise"
            " ask for nothing."
        ),
    ] = True
    extra_create_metadata: Annotated[
        bool, Flag("Tell the driver the names of claim and volume.")
    ] = False
    default_fstype: Annotated[str, Flag("The file system for classes that name none.")] = ""
    controller_publish_readonly: Annotated[
        bool, Flag("Mark volumes that are only ever read as read-only.")
    ] = False
    prevent_volume_mode_conversion: Annotated[
        bool, Flag("A snapshot becomes a volume of another mode only if its content allows it.")
    ] = True
    enable_capacity: Annotated[
        bool,
        Flag("Publish CSIStorageCapacity objects. Needs NAMESPACE, and POD_NAME for an owner."),
    ] = False
    capacity_poll_interval: Annotated[
        timedelta, Flag("How often the driver is asked even when nothing happened.")
    ] = timedelta(minutes=1)
    capacity_ownerref_level: Annotated[
        int,
        Flag(
            "Who owns the objects: 0 the pod, 1 its controller, 2 the controller of"
            " that; -1 no object."
        ),
    ] = 1
    capacity_for_immediate_binding: Annotated[
        bool, Flag("Publish for classes that bind immediately, too.")
    ] = False
    capacity_deletion_delay: Annotated[
        timedelta,
        Flag("How long a segment may be missing before its objects are deleted: drivers restart."),
    ] = timedelta(minutes=2)
    capacity_node_types: Annotated[
        str,
        Flag("A file with node types for which the cluster autoscaler finds capacity beforehand."),
    ] = ""
    kube_api_qps: Annotated[float, Flag("Requests per second to the API server.")] = 5
    kube_api_burst: Annotated[int, Flag("Requests at once to the API server.")] = 10
    kube_api_capacity_qps: Annotated[float, Flag("Requests per second for capacity objects.")] = 1
    kube_api_capacity_burst: Annotated[int, Flag("Requests at once for capacity objects.")] = 5
    node_deployment: Annotated[
        bool, Flag("Run beside the driver on each node, for that node alone. Needs NODE_NAME.")
    ] = False
    node_deployment_immediate_binding: Annotated[
        bool, Flag("With node deployment: also serve claims that bind immediately.")
    ] = True
    node_deployment_base_delay: Annotated[
        timedelta, Flag("With node deployment: how long to wait before taking such a claim.")
    ] = timedelta(seconds=20)
    node_deployment_max_delay: Annotated[
        timedelta, Flag("With node deployment: the longest such wait, after others were faster.")
    ] = timedelta(seconds=60)
    leader_election: Annotated[
        bool, Flag("Act only while holding the Lease named like the driver.")
    ] = False
    leader_election_namespace: Annotated[
        str,
        Flag("Where the Lease is; empty: POD_NAMESPACE, or the namespace of the service account."),
    ] = ""
    leader_election_lease_duration: Annotated[
        timedelta, Flag("How long a Lease that is not renewed keeps others from acting.")
    ] = timedelta(seconds=15)
    leader_election_renew_deadline: Annotated[
        timedelta, Flag("How long a leader tries to renew before it gives up.")
    ] = timedelta(seconds=10)
    leader_election_retry_period: Annotated[
        timedelta, Flag("How often the Lease is looked at.")
    ] = timedelta(seconds=5)
    leader_election_labels: Annotated[
        dict[str, str], Flag("Labels of the Lease.", metavar="KEY:VALUE,…")
    ] = msgspec.field(default_factory=dict)
    http_endpoint: Annotated[
        str,
        Flag(
            "Where to answer for metrics and health, as `:8080`, on all addresses; empty: nowhere."
        ),
    ] = ""
    metrics_address: Annotated[
        str, Flag("The older name of http-endpoint; only one of them may be given.")
    ] = ""
    metrics_path: Annotated[str, Flag("Where metrics are found.")] = "/metrics"
    feature_gates: Annotated[
        dict[str, bool], Flag("Feature gates that differ from their defaults.")
    ] = msgspec.field(default_factory=dict)
    namespace: Annotated[
        str,
        Meta(description="From NAMESPACE: where the sidecar runs, and where capacity objects go."),
    ] = ""
    pod_name: Annotated[
        str, Meta(description="From POD_NAME: the pod whose controller owns the capacity objects.")
    ] = ""
    node_name: Annotated[
        str, Meta(description="From NODE_NAME: the node of a node deployment.")
    ] = ""

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
