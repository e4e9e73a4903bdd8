"""Which plugins refuse nodes and what the scores of the others weigh, by a file's `plugins`.

As in kube-scheduler, `multiPoint` stands for all steps; what is said about one step is stronger.
The steps of one plugin are not taken apart here: it refuses nodes or not, it scores them or not.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll.decide.scheduling.profiles.profile import DEFAULT_WEIGHTS, SchedulerPlugin
from plimsoll.processes.scheduler.configuration.form import (
    PluginReference,
    PluginSet,
    PluginSettings,
)
from plimsoll.runtime.config import ConfigError

EVERY = "*"
MOST_WEIGHT = 500
"""Of all plugins together: scores must stay below what an existing volume counts for."""
KNOWN = frozenset(SchedulerPlugin)
REFUSING = frozenset(
    {
        SchedulerPlugin.NODE_NAME,
        SchedulerPlugin.NODE_UNSCHEDULABLE,
        SchedulerPlugin.TAINT_TOLERATION,
        SchedulerPlugin.NODE_AFFINITY,
        SchedulerPlugin.NODE_PORTS,
        SchedulerPlugin.NODE_RESOURCES_FIT,
        SchedulerPlugin.VOLUME_RESTRICTIONS,
        SchedulerPlugin.NODE_VOLUME_LIMITS,
        SchedulerPlugin.VOLUME_BINDING,
        SchedulerPlugin.VOLUME_ZONE,
        SchedulerPlugin.POD_TOPOLOGY_SPREAD,
        SchedulerPlugin.INTER_POD_AFFINITY,
        SchedulerPlugin.DYNAMIC_RESOURCES,
        SchedulerPlugin.NODE_DECLARED_FEATURES,
    }
)
SCORING = frozenset(map(SchedulerPlugin, DEFAULT_WEIGHTS))
AT_ONCE = frozenset(
    {
        SchedulerPlugin.NODE_NAME,
        SchedulerPlugin.NODE_UNSCHEDULABLE,
        SchedulerPlugin.IMAGE_LOCALITY,
    }
)
"""They prepare nothing before they look at nodes."""
PREEMPTING = frozenset({SchedulerPlugin.DYNAMIC_RESOURCES, SchedulerPlugin.DEFAULT_PREEMPTION})
CHANGING = frozenset({SchedulerPlugin.VOLUME_BINDING, SchedulerPlugin.DYNAMIC_RESOURCES})
STEPS: Mapping[str, frozenset[SchedulerPlugin]] = {
    "pre_enqueue": frozenset({SchedulerPlugin.SCHEDULING_GATES}) | PREEMPTING,
    "queue_sort": frozenset({SchedulerPlugin.PRIORITY_SORT}),
    "pre_filter": REFUSING - AT_ONCE - {SchedulerPlugin.TAINT_TOLERATION},
    "filter": REFUSING,
    "post_filter": PREEMPTING,
    "pre_score": SCORING - AT_ONCE,
    "score": SCORING,
    "reserve": CHANGING,
    "permit": frozenset(),
    "pre_bind": CHANGING,
    "bind": frozenset({SchedulerPlugin.DEFAULT_BINDER}),
    "post_bind": frozenset(),
    "placement_generate": frozenset(),
    "placement_score": frozenset(),
}
"""Who takes part in which step."""
NEEDED: Mapping[SchedulerPlugin, tuple[str, ...]] = {
    SchedulerPlugin.SCHEDULING_GATES: ("pre_enqueue",),
    SchedulerPlugin.PRIORITY_SORT: ("queue_sort",),
    SchedulerPlugin.VOLUME_BINDING: ("pre_filter", "filter", "reserve", "pre_bind"),
    SchedulerPlugin.DEFAULT_BINDER: ("bind",),
}
"""What Plimsoll cannot do without, and in which steps."""
PAIRS = (("pre_filter", "filter"), ("pre_score", "score"))


@dataclass(frozen=True, slots=True)
class ChosenPlugins:
    without: frozenset[str]
    weights: Mapping[str, int]
    preempts: bool


def read_plugins(settings: PluginSettings, where: str) -> ChosenPlugins:
    """Raises ConfigError."""
    sets = {step: getattr(settings, step) for step in ("multi_point", *STEPS)}
    for step, given in sets.items():
        _check(step, given, f"{where}.{_written(step)}")
    everywhere = _everywhere(settings.multi_point)
    asked = {step: _asked(step, sets[step], everywhere) for step in STEPS}
    _check_needed(asked, where)
    _check_pairs(asked, where)
    weights = {name: weight for name, weight in asked["score"].items() if name in DEFAULT_WEIGHTS}
    if sum(weights.values()) > MOST_WEIGHT:
        raise ConfigError(f"{where}: weights are more than {MOST_WEIGHT} together; lower them all")
    without = REFUSING - asked["filter"].keys()
    preempts = SchedulerPlugin.DEFAULT_PREEMPTION in asked["post_filter"]
    return ChosenPlugins(frozenset(map(str, without)), weights, preempts)


def _written(step: str) -> str:
    first, *rest = step.split("_")
    return first + "".join(map(str.capitalize, rest))


def _check(step: str, given: PluginSet, where: str) -> None:
    """What is disabled need not be there, as in kube-scheduler."""
    names = [each.name for each in given.enabled]
    for name in sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f'{where}.enabled: Duplicate value: "{name}"')
    for each in given.enabled:
        _check_plugin(step, each, f"{where}.enabled")


def _check_plugin(step: str, plugin: PluginReference, where: str) -> None:
    if plugin.name not in KNOWN:
        raise ConfigError(
            f"{where}: {plugin.name}: not one of kube-scheduler's default plugins; Plimsoll loads"
            " no others: leave it out, or keep kube-scheduler for the pods that need it"
        )
    if step in STEPS and plugin.name not in STEPS[step]:
        raise ConfigError(f"{where}: plugin {plugin.name} does not take part in {_written(step)}")
    if plugin.weight < 0:
        raise ConfigError(f"{where}: {plugin.name}: weight {plugin.weight} must not be negative")


Weights = dict[str, int]
"""By plugin; plugins that do not score have one that means nothing."""


def _everywhere(given: PluginSet) -> Weights:
    """Who takes part wherever it can."""
    disabled = {each.name for each in given.disabled}
    found: Weights = {
        name: DEFAULT_WEIGHTS.get(name, 1)
        for name in SchedulerPlugin
        if name not in disabled and EVERY not in disabled
    }
    return found | {each.name: each.weight or 1 for each in given.enabled}


def _asked(step: str, given: PluginSet, everywhere: Weights) -> Weights:
    """Who takes part in one step."""
    disabled = {each.name for each in given.disabled}
    found: Weights = {
        name: weight
        for name, weight in everywhere.items()
        if name in STEPS[step] and name not in disabled and EVERY not in disabled
    }
    return found | {each.name: each.weight or 1 for each in given.enabled}


def _check_needed(asked: Mapping[str, Weights], where: str) -> None:
    for plugin, steps in NEEDED.items():
        for step in steps:
            if plugin not in asked[step]:
                raise ConfigError(
                    f"{where}.{_written(step)}: {plugin} cannot be disabled in Plimsoll; leave it"
                    " enabled, or keep kube-scheduler for the pods of this profile"
                )


def _check_pairs(asked: Mapping[str, Weights], where: str) -> None:
    """A plugin prepares and is asked, or neither."""
    for before, step in PAIRS:
        for plugin in sorted((asked[step].keys() & STEPS[before]) - asked[before].keys()):
            raise ConfigError(
                f"{where}.{_written(before)}: {plugin} is disabled here and enabled in"
                f" {_written(step)}; disable it in both"
            )
