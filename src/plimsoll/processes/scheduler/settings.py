"""Settings of the scheduler: our own file, or the KubeSchedulerConfiguration of kube-scheduler.

Of the latter, what concerns volumes, the queue, leadership and the connection is understood. What
could change decisions and is not understood is an error, never silently left out.
"""

import logging
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import yaml
from msgspec import Meta

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.scheduling.policy import Policy, parse_namespaces
from plimsoll.decide.scheduling.queue.backoff import PodBackoff
from plimsoll.decide.scheduling.rules.volume_binding.score import DEFAULT_SHAPE, Point, ScoringShape
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
from plimsoll.runtime.config import ConfigError, Sources, load_settings
from plimsoll.runtime.flags import Flag

log = logging.getLogger(__name__)

COMPONENT = "plimsoll-scheduler"
DEFAULT_NAME = "plimsoll"
PREFIX = "PLIMSOLL_SCHEDULER"
KIND = "KubeSchedulerConfiguration"
API_VERSION = "kubescheduler.config.k8s.io/v1"
VOLUME_BINDING = "VolumeBinding"


class ShapePoint(config.Settings, frozen=True, kw_only=True):
    utilization: int
    score: int


class SchedulerSettings(config.Settings, frozen=True, kw_only=True):
    """Defaults of `plimsoll scheduler`."""

    kubeconfig: KubeconfigPath = ""
    context: KubeconfigContext = ""
    scheduler_name: Annotated[
        str,
        Meta(
            description="Pods that name this scheduler are scheduled; with `default-scheduler`,"
            " those that name none."
        ),
        Flag(
            "Schedule the pods that name this scheduler; default-scheduler: those that name none.",
            metavar="NAME",
        ),
    ] = DEFAULT_NAME
    policy: Annotated[
        Policy,
        Flag(
            "compatible: decide as kube-scheduler does; default: also share existing volumes out"
            " where that takes more than a first try, and prefer nodes that were not refused."
        ),
    ] = Policy.DEFAULT
    bind_timeout: Annotated[
        timedelta,
        Meta(
            description="For how long a pod waits for its volumes to be bound before it is"
            " scheduled anew."
        ),
        Flag("How long a pod waits for its volumes before it is scheduled anew."),
    ] = timedelta(minutes=10)
    leader_elect: LeaderElect = True
    leader_elect_namespace: LeaseNamespace = "kube-system"
    leader_elect_name: Annotated[
        str,
        Meta(
            description="Empty: `plimsoll-scheduler`, followed by the scheduler's name unless"
            " that is `plimsoll`."
        ),
        Flag(
            "What the lease is called.",
            metavar="NAME",
            default="plimsoll-scheduler, and the scheduler's name",
        ),
    ] = ""
    leader_elect_identity: LeaseIdentity = ""
    leader_elect_lease_duration: LeaseDuration = timedelta(seconds=15)
    leader_elect_renew_deadline: RenewDeadline = timedelta(seconds=10)
    leader_elect_retry_period: RetryPeriod = timedelta(seconds=2)
    record_namespaces: Annotated[
        str,
        Meta(
            description="Where provisioners that hold volumes back keep their records, separated by"
            " commas; tenants must not be able to write leases there. Empty: the namespace of the"
            " lease."
        ),
        Flag(
            "Where provisioners keep their records; by commas.",
            metavar="NAMES",
            default="the namespace of the lease",
        ),
    ] = ""
    metrics_port: MetricsPort = 10269
    shape: Annotated[
        tuple[ShapePoint, ...],
        Meta(
            description="How good it is to fill storage to some percentage; empty: the emptier"
            " the better."
        ),
    ] = ()
    pod_initial_backoff: Annotated[
        timedelta, Meta(description="For how long a pod waits after its first attempt in vain.")
    ] = timedelta(seconds=1)
    pod_max_backoff: Annotated[
        timedelta, Meta(description="The longest that a pod waits after an attempt in vain.")
    ] = timedelta(seconds=10)


def lease_of(settings: SchedulerSettings) -> ObjectKey:
    """Schedulers of different names do not wait for each other."""
    is_usual = settings.scheduler_name == DEFAULT_NAME
    usual = COMPONENT if is_usual else f"{COMPONENT}-{settings.scheduler_name}"
    return ObjectKey(settings.leader_elect_namespace, settings.leader_elect_name or usual)


def trusted_namespaces(settings: SchedulerSettings) -> frozenset[str]:
    """Where records of provisioners are believed."""
    named = parse_namespaces(settings.record_namespaces)
    return named or frozenset({settings.leader_elect_namespace})


def shape_of(settings: SchedulerSettings) -> ScoringShape:
    """Raises ConfigError."""
    if not settings.shape:
        return DEFAULT_SHAPE
    try:
        return ScoringShape.parse(
            [Point(point.utilization, point.score) for point in settings.shape]
        )
    except ValueError as error:
        raise ConfigError(str(error)) from error


def backoff_of(settings: SchedulerSettings) -> PodBackoff:
    return PodBackoff(first=settings.pod_initial_backoff, limit=settings.pod_max_backoff)


def load(
    file: Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]
) -> SchedulerSettings:
    """The file, then the environment, then flags. Raises ConfigError."""
    sources = Sources(file=file, environment=environment, prefix=PREFIX, flags=flags)
    foreign = None if file is None else _foreign_document(file)
    if foreign is not None:
        base = _translated(foreign, str(file))
        given = {name for name, value in flags.items() if value is not None}
        given |= {name for name in base if f"{PREFIX}_{name.upper()}" in environment}
        weakest = {name: value for name, value in base.items() if name not in given}
        everything = {**flags, **weakest}
        sources = Sources(environment=environment, prefix=PREFIX, flags=everything)
    settings = load_settings(SchedulerSettings, sources)
    if not settings.scheduler_name:
        raise ConfigError("schedulerName: must not be empty")
    shape_of(settings)
    return settings


def _foreign_document(file: Path) -> dict[str, Any] | None:
    try:
        document = yaml.safe_load(file.read_text())
    except (OSError, yaml.YAMLError, UnicodeDecodeError):
        return None  # reading it as our own file tells what is wrong
    if isinstance(document, dict) and document.get("kind") == KIND:
        return document
    return None


class _Struct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class _Strict(_Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key that is not here is an error."""


class _LeaderElection(_Strict, frozen=True, kw_only=True):
    leader_elect: bool | None = None
    lease_duration: str | None = None
    renew_deadline: str | None = None
    retry_period: str | None = None
    resource_lock: Literal["leases"] | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None


class _Connection(_Struct, frozen=True, kw_only=True):
    """How often one may ask, and in which format, is nothing that decisions depend on."""

    kubeconfig: str | None = None


class _VolumeBindingArgs(_Strict, frozen=True, kw_only=True):
    api_version: str = API_VERSION
    kind: str = "VolumeBindingArgs"
    bind_timeout_seconds: int | None = None
    shape: tuple[ShapePoint, ...] | None = None


class _PluginConfig(_Strict, frozen=True, kw_only=True):
    name: str
    args: msgspec.Raw = msgspec.Raw(b"{}")


class _Profile(_Strict, frozen=True, kw_only=True):
    scheduler_name: str | None = None
    plugin_config: tuple[_PluginConfig, ...] = ()
    percentage_of_nodes_to_score: int | None = None


class _Configuration(_Strict, frozen=True, kw_only=True):
    api_version: str
    kind: str
    leader_election: _LeaderElection = _LeaderElection()
    client_connection: _Connection = _Connection()
    pod_initial_backoff_seconds: int | None = None
    pod_max_backoff_seconds: int | None = None
    profiles: tuple[_Profile, ...] = ()
    # Every node is judged for every pod, in one go: there is nothing to set.
    parallelism: int | None = None
    percentage_of_nodes_to_score: int | None = None


def _translated(document: dict[str, Any], where: str) -> dict[str, Any]:
    """By the names of our own settings; only what is set."""
    try:
        foreign = msgspec.json.decode(msgspec.json.encode(document), type=_Configuration)
        if foreign.api_version != API_VERSION:
            raise ConfigError(f"{where}: apiVersion: {foreign.api_version}; only {API_VERSION}")
        if len(foreign.profiles) > 1:
            raise ConfigError(f"{where}: profiles: one is understood; run a scheduler for each")
        profile = foreign.profiles[0] if foreign.profiles else _Profile()
        volumes = _volume_arguments(profile)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {str(error).replace('`', '')}") from error
    leadership = foreign.leader_election
    found: dict[str, Any] = {
        "scheduler_name": profile.scheduler_name,
        "kubeconfig": foreign.client_connection.kubeconfig,
        "leader_elect": leadership.leader_elect,
        "leader_elect_name": leadership.resource_name,
        "leader_elect_namespace": leadership.resource_namespace,
        "leader_elect_lease_duration": leadership.lease_duration,
        "leader_elect_renew_deadline": leadership.renew_deadline,
        "leader_elect_retry_period": leadership.retry_period,
        "bind_timeout": _seconds(volumes.bind_timeout_seconds, "bindTimeoutSeconds", where),
        "shape": volumes.shape and msgspec.to_builtins(volumes.shape),
        "pod_initial_backoff": _seconds(
            foreign.pod_initial_backoff_seconds, "podInitialBackoffSeconds", where
        ),
        "pod_max_backoff": _seconds(foreign.pod_max_backoff_seconds, "podMaxBackoffSeconds", where),
    }
    if volumes.shape == ():
        raise ConfigError(f"{where}: shape: Required value: at least one point must be specified")
    return {name: value for name, value in found.items() if value is not None}


def _volume_arguments(profile: _Profile) -> _VolumeBindingArgs:
    arguments = _VolumeBindingArgs()
    for plugin in profile.plugin_config:
        if plugin.name != VOLUME_BINDING:
            raise msgspec.ValidationError(
                f"pluginConfig: {plugin.name}: only {VOLUME_BINDING} can be configured"
            )
        arguments = msgspec.json.decode(plugin.args, type=_VolumeBindingArgs)
    return arguments


def _seconds(number: int | None, key: str, where: str) -> timedelta | None:
    if number is None:
        return None
    if number < 0:
        raise ConfigError(f"{where}: {key}: Invalid value: {number}: must not be negative")
    return timedelta(seconds=number)
