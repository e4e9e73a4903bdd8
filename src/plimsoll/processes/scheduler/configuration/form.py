"""What a file may say about profiles, by the names that kube-scheduler gives it."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from plimsoll.runtime import config


class ShapePoint(config.Settings, frozen=True, kw_only=True):
    utilization: int
    score: int


class PluginReference(config.Settings, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="A plugin of kube-scheduler's; `*` disables all.")]
    weight: Annotated[
        int, Meta(description="What its score counts for; 0: 1. Only for plugins that score.")
    ] = 0


class PluginSet(config.Settings, frozen=True, kw_only=True):
    enabled: tuple[PluginReference, ...] = ()
    disabled: tuple[PluginReference, ...] = ()


class PluginSettings(config.Settings, frozen=True, kw_only=True):
    """By the step of a decision that they take part in; `multiPoint` stands for all steps."""

    multi_point: PluginSet = PluginSet()
    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()


class PluginArguments(config.Settings, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="The plugin that they are for.")]
    args: Annotated[
        dict[str, Any], Meta(description="As kube-scheduler's `<plugin>Args` has them.")
    ] = msgspec.field(default_factory=dict)


class ProfileSettings(config.Settings, frozen=True, kw_only=True):
    """How the pods of one scheduler name are judged."""

    scheduler_name: Annotated[
        str, Meta(description="Pods that name it are judged by this profile.")
    ] = ""
    plugins: PluginSettings = PluginSettings()
    plugin_config: tuple[PluginArguments, ...] = ()
    percentage_of_nodes_to_score: Annotated[
        int | None, Meta(description="Accepted and without effect: every node is judged.")
    ] = None
