"""What plugins are told, by a file's `pluginConfig`, checked as kube-scheduler checks it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal, TypeVar

import msgspec

from plimsoll.api.names import qualified_name_errors
from plimsoll.api.pods import NodeAffinity, TopologySpreadConstraint
from plimsoll.api.selectors.node import NodeSelector, PreferredNodes
from plimsoll.decide.scheduling.profiles.profile import (
    AffinityArguments,
    PreemptionArguments,
    Profile,
    SchedulerPlugin,
    SpreadArguments,
)
from plimsoll.decide.scheduling.profiles.resource_scoring import ResourceScoring, Strategy
from plimsoll.decide.scheduling.rules.volume_binding.score import Point, ScoringShape
from plimsoll.processes.scheduler.configuration.form import PluginArguments, ShapePoint
from plimsoll.runtime import config
from plimsoll.runtime.config import ConfigError

API_VERSION = "kubescheduler.config.k8s.io/v1"
PERCENT = 100


class _Arguments(config.Settings, frozen=True, kw_only=True):
    api_version: str = API_VERSION
    kind: str = ""


class _Resource(config.Settings, frozen=True, kw_only=True):
    name: str
    weight: int = 0


class _Ratio(config.Settings, frozen=True, kw_only=True):
    shape: tuple[ShapePoint, ...] = ()


class _ScoringStrategy(config.Settings, frozen=True, kw_only=True):
    type: Strategy | None = None
    resources: tuple[_Resource, ...] = ()
    requested_to_capacity_ratio: _Ratio | None = None


class _FitArguments(_Arguments, frozen=True, kw_only=True):
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: _ScoringStrategy = _ScoringStrategy(type=Strategy.LEAST_ALLOCATED)


class _BalancedArguments(_Arguments, frozen=True, kw_only=True):
    resources: tuple[_Resource, ...] = ()


class _NodeAffinityArguments(_Arguments, frozen=True, kw_only=True):
    added_affinity: NodeAffinity | None = None


class _PodAffinityArguments(_Arguments, frozen=True, kw_only=True):
    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class _SpreadArguments(_Arguments, frozen=True, kw_only=True):
    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: Literal["System", "List"] = "System"


class _PreemptionArguments(_Arguments, frozen=True, kw_only=True):
    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100


class _DynamicResourcesArguments(_Arguments, frozen=True, kw_only=True):
    """Without effect: pods with such claims are refused."""

    filter_timeout: str | None = None
    binding_timeout: str | None = None


class _VolumeBindingArguments(_Arguments, frozen=True, kw_only=True):
    bind_timeout_seconds: int | None = None
    shape: tuple[ShapePoint, ...] | None = None


@dataclass(frozen=True, slots=True)
class VolumeArguments:
    """Of VolumeBinding; None: as the settings of the process say."""

    bind_timeout: timedelta | None = None
    shape: ScoringShape | None = None


def read_arguments(given: Iterable[PluginArguments], profile: Profile, where: str) -> Profile:
    """The profile with what its plugins are told. Raises ConfigError."""
    seen: set[str] = set()
    for index, each in enumerate(given):
        place = f"{where}[{index}]"
        if each.name in seen:
            raise ConfigError(f'{place}: Duplicate value: "{each.name}"')
        seen.add(each.name)
        reader = READERS.get(each.name)
        if reader is not None:
            _check_kind(each, place)
            profile = reader(profile, each.args, f"{place}.args")
        elif each.name not in WITHOUT_EFFECT:
            known = ", ".join(sorted({*READERS, SchedulerPlugin.VOLUME_BINDING}))
            raise ConfigError(f"{place}: {each.name}: has no arguments here; only {known} have")
    return profile


def _check_kind(given: PluginArguments, where: str) -> None:
    kind, expected = given.args.get("kind") or "", f"{given.name}Args"
    if kind and kind != expected:
        raise ConfigError(
            f"{where}: args for plugin {given.name} were not of type {expected}, got {kind}"
        )


def read_volume_arguments(given: Iterable[PluginArguments], where: str) -> VolumeArguments:
    """Raises ConfigError."""
    for index, each in enumerate(given):
        if each.name == SchedulerPlugin.VOLUME_BINDING:
            place = f"{where}[{index}].args"
            read = _read(each.args, _VolumeBindingArguments, place)
            shape = None if read.shape is None else _shape(read.shape, place)
            return VolumeArguments(_seconds(read.bind_timeout_seconds, place), shape)
    return VolumeArguments()


A = TypeVar("A", bound=_Arguments)


def _read(args: Mapping[str, Any], form: type[A], where: str) -> A:
    try:
        return msgspec.convert(args, form)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {str(error).replace('`', '')}") from error


def _seconds(number: int | None, where: str) -> timedelta | None:
    if number is None:
        return None
    if number < 0:
        raise ConfigError(
            f"{where}.bindTimeoutSeconds: Invalid value: {number}: should not be a negative value"
        )
    return timedelta(seconds=number)


def _shape(points: Iterable[ShapePoint], where: str) -> ScoringShape:
    try:
        return ScoringShape.parse([Point(each.utilization, each.score) for each in points])
    except ValueError as error:
        raise ConfigError(f"{where}.{error}") from error


def _in_range(number: int, lowest: int, highest: int, where: str) -> None:
    if not lowest <= number <= highest:
        raise ConfigError(
            f"{where}: Invalid value: {number}: not in valid range [{lowest}, {highest}]"
        )


def _weights(resources: Iterable[_Resource], where: str) -> tuple[tuple[str, int], ...]:
    """A resource that is named twice counts twice."""
    found: Counter[str] = Counter()
    for index, each in enumerate(resources):
        if not 0 <= each.weight <= PERCENT:
            raise ConfigError(
                f"{where}[{index}].weight: Invalid value: {each.weight}: resource weight of"
                f" {each.name} not in valid range (0, {PERCENT}]"
            )
        found[each.name] += each.weight or 1
    return tuple(found.items())


def _check_names(given: Iterable[str], where: str) -> None:
    for index, name in enumerate(given):
        for complaint in qualified_name_errors(name):
            raise ConfigError(f'{where}[{index}]: Invalid value: "{name}": {complaint}')


def _fit(profile: Profile, args: Mapping[str, Any], where: str) -> Profile:
    read = _read(args, _FitArguments, where)
    _check_names(read.ignored_resources, f"{where}.ignoredResources")
    for index, group in enumerate(read.ignored_resource_groups):
        if "/" in group:
            raise ConfigError(
                f'{where}.ignoredResourceGroups[{index}]: Invalid value: "{group}": resource group'
                " name can't contain '/'"
            )
    _check_names(read.ignored_resource_groups, f"{where}.ignoredResourceGroups")
    return replace(
        profile,
        resources=_scoring(read.scoring_strategy, f"{where}.scoringStrategy"),
        ignored_resources=frozenset(read.ignored_resources),
        ignored_groups=frozenset(read.ignored_resource_groups),
    )


def _scoring(given: _ScoringStrategy, where: str) -> ResourceScoring:
    if given.type is None:
        supported = ", ".join(f'"{each}"' for each in sorted(Strategy))
        raise ConfigError(f'{where}.type: Unsupported value: "": supported values: {supported}')
    weights = _weights(given.resources, f"{where}.resources") or ResourceScoring().weights
    ratio, place = given.requested_to_capacity_ratio, f"{where}.requestedToCapacityRatio"
    if given.type is not Strategy.REQUESTED_TO_CAPACITY_RATIO:
        if ratio is not None:
            raise ConfigError(
                f"{place}: Forbidden: must be nil when type is not RequestedToCapacityRatio"
            )
        return ResourceScoring(given.type, weights)
    if ratio is None:
        raise ConfigError(
            f"{place}: Required value: must be specified when type is RequestedToCapacityRatio"
        )
    return ResourceScoring(given.type, weights, _shape(ratio.shape, place))


def _balanced(profile: Profile, args: Mapping[str, Any], where: str) -> Profile:
    read = _read(args, _BalancedArguments, where)
    names: list[str] = []
    for index, each in enumerate(read.resources):
        place = f"{where}.resources[{index}]"
        if each.name in names:
            raise ConfigError(f'{place}.name: Duplicate value: "{each.name}"')
        if each.weight not in (0, 1):
            raise ConfigError(f"{place}.weight: Invalid value: {each.weight}: must be 1")
        names.append(each.name)
    return replace(profile, balanced=tuple(names) or profile.balanced)


def _node_affinity(profile: Profile, args: Mapping[str, Any], where: str) -> Profile:
    added = _read(args, _NodeAffinityArguments, where).added_affinity
    try:
        if added is not None:
            PreferredNodes.of(added.preferred)
    except ValueError as error:
        raise ConfigError(f"{where}.addedAffinity: {error}") from error
    required = added.required if added is not None else None
    complaint = NodeSelector.of(required).complaint if required is not None else ""
    if complaint:
        raise ConfigError(f"{where}.addedAffinity: {complaint}")
    return replace(profile, added_affinity=added)


def _pod_affinity(profile: Profile, args: Mapping[str, Any], where: str) -> Profile:
    read = _read(args, _PodAffinityArguments, where)
    _in_range(read.hard_pod_affinity_weight, 0, PERCENT, f"{where}.hardPodAffinityWeight")
    told = AffinityArguments(
        hard_weight=read.hard_pod_affinity_weight,
        ignores_preferences_of_others=read.ignore_preferred_terms_of_existing_pods,
    )
    return replace(profile, affinity=told)


def _spread(profile: Profile, args: Mapping[str, Any], where: str) -> Profile:
    read = _read(args, _SpreadArguments, where)
    if read.defaulting_type == "System":
        if read.default_constraints:
            raise ConfigError(
                f'{where}.defaultingType: Invalid value: "System": when .defaultConstraints are not'
                " empty"
            )
        return profile
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(read.default_constraints):
        place = f"{where}.defaultConstraints[{index}]"
        _check_constraint(constraint, place)
        pair = constraint.topology_key, constraint.when_unsatisfiable
        if pair in seen:
            raise ConfigError(f"{place}: Duplicate value: {{{', '.join(pair)}}}")
        seen.add(pair)
    return replace(profile, spread=SpreadArguments(constraints=read.default_constraints))


def _check_constraint(constraint: TopologySpreadConstraint, where: str) -> None:
    if constraint.max_skew <= 0:
        raise ConfigError(
            f"{where}.maxSkew: Invalid value: {constraint.max_skew}: not in valid range (0, inf)"
        )
    key = constraint.topology_key
    if not key:
        raise ConfigError(f"{where}.topologyKey: Required value: can not be empty")
    for complaint in qualified_name_errors(key):
        raise ConfigError(f'{where}.topologyKey: Invalid value: "{key}": {complaint}')
    if not constraint.when_unsatisfiable:
        raise ConfigError(f"{where}.whenUnsatisfiable: Required value: can not be empty")
    if constraint.when_unsatisfiable not in ("DoNotSchedule", "ScheduleAnyway"):
        raise ConfigError(
            f'{where}.whenUnsatisfiable: Unsupported value: "{constraint.when_unsatisfiable}":'
            ' supported values: "DoNotSchedule", "ScheduleAnyway"'
        )
    if constraint.label_selector is not None:
        raise ConfigError(
            f"{where}.labelSelector: Forbidden: constraint must not define a selector, as they"
            " deduced for each pod"
        )


def _preemption(profile: Profile, args: Mapping[str, Any], where: str) -> Profile:
    read = _read(args, _PreemptionArguments, where)
    percentage, nodes = read.min_candidate_nodes_percentage, read.min_candidate_nodes_absolute
    _in_range(percentage, 0, PERCENT, f"{where}.minCandidateNodesPercentage")
    place = f"{where}.minCandidateNodesAbsolute"
    if nodes < 0:
        raise ConfigError(f"{place}: Invalid value: {nodes}: not in valid range [0, inf)")
    if percentage == 0 and nodes == 0:
        raise ConfigError(
            f"{place}: Invalid value: 0: cannot be zero at the same time as"
            " minCandidateNodesPercentage"
        )
    told = PreemptionArguments(least_percentage=percentage, least_nodes=nodes)
    return replace(profile, preemption=told)


def _dynamic_resources(profile: Profile, args: Mapping[str, Any], where: str) -> Profile:
    read = _read(args, _DynamicResourcesArguments, where)
    timeouts = {"filterTimeout": read.filter_timeout, "bindingTimeout": read.binding_timeout}
    for name, timeout in timeouts.items():
        if timeout is not None and timeout.startswith("-"):
            raise ConfigError(
                f'{where}.{name}: Invalid value: "{timeout}": must be zero or positive'
            )
    return profile


READERS: Mapping[str, Callable[[Profile, Mapping[str, Any], str], Profile]] = {
    SchedulerPlugin.NODE_RESOURCES_FIT: _fit,
    SchedulerPlugin.BALANCED_ALLOCATION: _balanced,
    SchedulerPlugin.NODE_AFFINITY: _node_affinity,
    SchedulerPlugin.INTER_POD_AFFINITY: _pod_affinity,
    SchedulerPlugin.POD_TOPOLOGY_SPREAD: _spread,
    SchedulerPlugin.DEFAULT_PREEMPTION: _preemption,
    SchedulerPlugin.DYNAMIC_RESOURCES: _dynamic_resources,
}
WITHOUT_EFFECT = frozenset(SchedulerPlugin) - READERS.keys()
"""Plugins that ignore what they are given, as in kube-scheduler; VolumeBinding's is read apart."""
