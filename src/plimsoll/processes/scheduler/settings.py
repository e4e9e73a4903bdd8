"""Settings of the scheduler: our own file, or the KubeSchedulerConfiguration of kube-scheduler.

Of the latter, profiles, the queue, leadership and the connection are understood. What could change
decisions and is not understood is an error, never silently left out.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import yaml
from msgspec import Meta

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.scheduling.policy import Policy, parse_namespaces
from plimsoll.decide.scheduling.profiles.profile import SchedulerPlugin
from plimsoll.decide.scheduling.queue.backoff import PodBackoff
from plimsoll.decide.scheduling.rules.volume_binding.score import DEFAULT_SHAPE, Point, ScoringShape
from plimsoll.processes.scheduler.configuration.arguments import (
    API_VERSION,
    read_volume_arguments,
)
from plimsoll.processes.scheduler.configuration.form import (
    PluginArguments,
    ProfileSettings,
    ShapePoint,
)
from plimsoll.processes.scheduler.configuration.profiles import NamedProfile, read_profiles
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
    profiles: Annotated[
        tuple[ProfileSettings, ...],
        Meta(
            description="How pods are judged, by scheduler name, as a KubeSchedulerConfiguration"
            " has it. Empty: as kube-scheduler does by default. With more than one, their names"
            " count instead of `schedulerName`."
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


def profiles_of(settings: SchedulerSettings) -> tuple[NamedProfile, ...]:
    """At least one. Raises ConfigError."""
    usual = NamedProfile(
        name=settings.scheduler_name, bind_timeout=settings.bind_timeout, shape=shape_of(settings)
    )
    found = read_profiles(settings.profiles, usual)
    return found if len(found) > 1 else (replace(found[0], name=settings.scheduler_name),)


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
    names = [each.name for each in profiles_of(settings)]
    if len(names) > 1 and settings.scheduler_name not in (DEFAULT_NAME, names[0]):
        raise ConfigError(
            f"schedulerName: {settings.scheduler_name}: the profiles have names of their own;"
            " leave it out"
        )
    return msgspec.structs.replace(settings, scheduler_name=names[0])


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


class _Configuration(_Strict, frozen=True, kw_only=True):
    api_version: str
    kind: str
    leader_election: _LeaderElection = _LeaderElection()
    client_connection: _Connection = _Connection()
    pod_initial_backoff_seconds: int | None = None
    pod_max_backoff_seconds: int | None = None
    profiles: tuple[ProfileSettings, ...] = ()
    extenders: tuple[dict[str, Any], ...] = ()
    # Every node is judged for every pod, in one go: there is nothing to set.
    parallelism: int | None = None
    percentage_of_nodes_to_score: int | None = None
    # How the process is looked into and when it reads: decisions are the same.
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    delay_cache_until_active: bool | None = None


def _translated(document: dict[str, Any], where: str) -> dict[str, Any]:
    """By the names of our own settings; only what is set."""
    try:
        foreign = msgspec.json.decode(msgspec.json.encode(document), type=_Configuration)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {str(error).replace('`', '')}") from error
    if foreign.api_version != API_VERSION:
        raise ConfigError(f"{where}: apiVersion: {foreign.api_version}; only {API_VERSION}")
    _check_numbers(foreign, where)
    if foreign.extenders:
        raise ConfigError(
            f"{where}: extenders: Plimsoll calls none; leave them out, or keep kube-scheduler for"
            " the pods that need them"
        )
    try:
        profiles = _translated_profiles(foreign.profiles)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    leadership = foreign.leader_election
    found: dict[str, Any] = {
        **profiles,
        "kubeconfig": foreign.client_connection.kubeconfig,
        "leader_elect": leadership.leader_elect,
        "leader_elect_name": leadership.resource_name,
        "leader_elect_namespace": leadership.resource_namespace,
        "leader_elect_lease_duration": leadership.lease_duration,
        "leader_elect_renew_deadline": leadership.renew_deadline,
        "leader_elect_retry_period": leadership.retry_period,
        **_translated_backoff(foreign, where),
    }
    return {name: value for name, value in found.items() if value is not None}


def _translated_profiles(profiles: tuple[ProfileSettings, ...]) -> dict[str, Any]:
    """What a single profile says of its name and of volumes, the environment and flags may
    replace."""
    if not profiles:
        return {}
    if len(profiles) > 1:
        names = {"scheduler_name": profiles[0].scheduler_name or None}
        return {**names, "profiles": msgspec.to_builtins(profiles)}
    (profile,) = profiles
    volumes = read_volume_arguments(profile.plugin_config, "profiles[0].pluginConfig")
    points = volumes.shape and [
        {"utilization": point.utilization, "score": point.score} for point in volumes.shape.points
    ]
    # What was read here stays as a name, so that the others keep their places in complaints.
    others = [
        PluginArguments(name=each.name) if each.name == SchedulerPlugin.VOLUME_BINDING else each
        for each in profile.plugin_config
    ]
    rest = msgspec.structs.replace(profile, plugin_config=tuple(others))
    return {
        "scheduler_name": profile.scheduler_name or None,
        "bind_timeout": volumes.bind_timeout,
        "shape": points,
        "profiles": msgspec.to_builtins((rest,)),
    }


def _translated_backoff(foreign: _Configuration, where: str) -> dict[str, timedelta | None]:
    first, limit = foreign.pod_initial_backoff_seconds, foreign.pod_max_backoff_seconds
    if first is not None and first <= 0:
        raise ConfigError(
            f"{where}: podInitialBackoffSeconds: Invalid value: {first}: must be greater than 0"
        )
    usual = SchedulerSettings()
    least = usual.pod_initial_backoff if first is None else timedelta(seconds=first)
    most = usual.pod_max_backoff if limit is None else timedelta(seconds=limit)
    if most < least:
        raise ConfigError(
            f"{where}: podMaxBackoffSeconds: Invalid value: {most.total_seconds():.0f}: must be"
            " greater than or equal to PodInitialBackoffSeconds"
        )
    return {
        "pod_initial_backoff": None if first is None else least,
        "pod_max_backoff": None if limit is None else most,
    }


def _check_numbers(foreign: _Configuration, where: str) -> None:
    """They have no effect here, and must be what kube-scheduler takes."""
    if foreign.parallelism is not None and foreign.parallelism <= 0:
        raise ConfigError(
            f"{where}: parallelism: Invalid value: {foreign.parallelism}: should be an integer"
            " value greater than zero"
        )
    percentage = foreign.percentage_of_nodes_to_score
    if percentage is not None and not 0 <= percentage <= 100:  # noqa: PLR2004  it is a percentage
        raise ConfigError(
            f"{where}: percentageOfNodesToScore: Invalid value: {percentage}: not in valid range"
            " [0-100]"
        )
