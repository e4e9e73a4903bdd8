"""Which plugins are asked, and what they weigh."""

from typing import Any

import msgspec
import pytest

from plimsoll.decide.scheduling.profiles.profile import DEFAULT_WEIGHTS, SchedulerPlugin
from plimsoll.processes.scheduler.configuration.form import PluginSettings
from plimsoll.processes.scheduler.configuration.plugins import ChosenPlugins, read_plugins
from plimsoll.runtime.config import ConfigError

ALL = [{"name": "*"}]
USUAL = ChosenPlugins(frozenset(), DEFAULT_WEIGHTS, True)


def read(**steps: Any) -> ChosenPlugins:
    return read_plugins(msgspec.convert(steps, PluginSettings), "profiles[0].plugins")


def named(*names: str, **weights: int) -> list[dict[str, Any]]:
    return [{"name": name} for name in names] + [
        {"name": name, "weight": weight} for name, weight in weights.items()
    ]


def test_nothing_said_means_kube_schedulers_defaults() -> None:
    assert read() == USUAL


def test_a_step_is_stronger_than_all_steps() -> None:
    chosen = read(
        multiPoint={"enabled": named(ImageLocality=5, NodeAffinity=7)},
        score={"enabled": named(ImageLocality=9)},
    )
    assert chosen.weights == {**DEFAULT_WEIGHTS, "ImageLocality": 9, "NodeAffinity": 7}


def test_a_weight_of_zero_is_one() -> None:
    chosen = read(score={"enabled": named("TaintToleration")})
    assert chosen.weights == {**DEFAULT_WEIGHTS, "TaintToleration": 1}


def test_scores_can_be_left_out_one_by_one_and_altogether() -> None:
    some = read(score={"disabled": named("ImageLocality")})
    assert some.weights.keys() == DEFAULT_WEIGHTS.keys() - {"ImageLocality"}
    none = read(score={"disabled": ALL}, preScore={"disabled": ALL})
    assert none.weights == {}
    assert none.without == frozenset()


def test_a_plugin_that_is_disabled_everywhere_neither_refuses_nor_scores() -> None:
    chosen = read(multiPoint={"disabled": named("PodTopologySpread", "DefaultPreemption")})
    assert chosen.without == {SchedulerPlugin.POD_TOPOLOGY_SPREAD}
    assert "PodTopologySpread" not in chosen.weights
    assert not chosen.preempts


def test_only_what_is_named_is_asked_where_all_is_disabled_first() -> None:
    needed = named("SchedulingGates", "PrioritySort", "VolumeBinding", "DefaultBinder", "NodeName")
    chosen = read(multiPoint={"enabled": needed, "disabled": ALL})
    assert chosen.weights == {"VolumeBinding": 1}
    assert "NodeName" not in chosen.without
    assert "TaintToleration" in chosen.without


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(
            {
                "preScore": {"disabled": ALL},
                "score": {"disabled": ALL, "enabled": named("ImageLocality")},
            },
            id="scores-that-prepare-nothing",
        ),
        pytest.param(
            {"score": {"disabled": named("Coscheduling", "Coscheduling", "NodeName")}},
            id="disabled-and-not-there",
        ),
        pytest.param(
            {"placementGenerate": {"disabled": ALL}, "placementScore": {"disabled": ALL}},
            id="steps-that-no-default-plugin-takes-part-in",
        ),
    ],
)
def test_what_kube_scheduler_takes_is_taken(steps: dict[str, Any]) -> None:
    assert read(**steps).without == frozenset()


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        pytest.param(
            {"score": {"enabled": named("Coscheduling")}},
            r"plugins\.score\.enabled: Coscheduling: not one of kube-scheduler's",
            id="another-plugin",
        ),
        pytest.param(
            {"score": {"enabled": named("ImageLocality", "ImageLocality")}},
            'Duplicate value: "ImageLocality"',
            id="twice",
        ),
        pytest.param(
            {"filter": {"enabled": named("ImageLocality")}},
            "plugin ImageLocality does not take part in filter",
            id="not-in-this-step",
        ),
        pytest.param(
            {"preFilter": {"enabled": named("TaintToleration")}},
            "plugin TaintToleration does not take part in preFilter",
            id="does-not-prepare",
        ),
        pytest.param(
            {"score": {"enabled": named(ImageLocality=-1)}}, "must not be negative", id="negative"
        ),
        pytest.param(
            {"score": {"enabled": named(ImageLocality=1000)}}, "more than 500", id="too-heavy"
        ),
        pytest.param(
            {"multiPoint": {"disabled": named("VolumeBinding")}},
            "VolumeBinding cannot be disabled in Plimsoll",
            id="volumes",
        ),
        pytest.param(
            {"queueSort": {"disabled": ALL}}, "PrioritySort cannot be disabled", id="no-order"
        ),
        pytest.param(
            {"preScore": {"disabled": named("NodeAffinity")}},
            "NodeAffinity is disabled here and enabled in score",
            id="half-of-a-plugin",
        ),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(steps: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read(**steps)
