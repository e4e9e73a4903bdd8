"""What plugins are told."""

from datetime import timedelta
from typing import Any

import pytest

from plimsoll.decide.scheduling.profiles.profile import DEFAULT_PROFILE, Profile
from plimsoll.decide.scheduling.profiles.resource_scoring import Strategy
from plimsoll.decide.scheduling.rules.volume_binding.score import Point
from plimsoll.processes.scheduler.configuration.arguments import (
    VolumeArguments,
    read_arguments,
    read_volume_arguments,
)
from plimsoll.processes.scheduler.configuration.form import PluginArguments
from plimsoll.runtime.config import ConfigError

SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
BY_SHAPE = {
    "type": "RequestedToCapacityRatio",
    "resources": [{"name": "example.com/gpu", "weight": 5}, {"name": "cpu"}],
    "requestedToCapacityRatio": {"shape": SHAPE},
}
HOSTS = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "ScheduleAnyway",
}


def read(name: str, **args: Any) -> Profile:
    return read_arguments([PluginArguments(name=name, args=args)], DEFAULT_PROFILE, "pluginConfig")


def test_nodes_are_filled_by_strategies_with_weights() -> None:
    profile = read(
        "NodeResourcesFit",
        scoringStrategy=BY_SHAPE,
        ignoredResources=["example.com/nic"],
        ignoredResourceGroups=["vendor.io"],
    )
    assert profile.resources.strategy is Strategy.REQUESTED_TO_CAPACITY_RATIO
    assert profile.resources.weights == (("example.com/gpu", 5), ("cpu", 1))
    assert profile.resources.shape is not None
    assert profile.resources.shape.points == (Point(0, 0), Point(100, 10))
    assert profile.ignores_resource("example.com/nic")
    assert profile.ignores_resource("vendor.io/card")
    assert read("NodeResourcesFit", apiVersion="kubescheduler.config.k8s.io/v1") == DEFAULT_PROFILE


def test_other_plugins_are_told_what_they_know() -> None:
    assert read("NodeResourcesBalancedAllocation", resources=[{"name": "cpu"}]).balanced == ("cpu",)
    told = read(
        "InterPodAffinity", hardPodAffinityWeight=0, ignorePreferredTermsOfExistingPods=True
    ).affinity
    assert (told.hard_weight, told.ignores_preferences_of_others) == (0, True)
    spread = read("PodTopologySpread", defaultConstraints=[HOSTS], defaultingType="List").spread
    assert spread.constraints is not None
    assert [each.topology_key for each in spread.constraints] == ["kubernetes.io/hostname"]
    assert read("PodTopologySpread", defaultingType="List").spread.constraints == ()
    assert read("PodTopologySpread").spread.constraints is None
    assert read("DefaultPreemption", minCandidateNodesAbsolute=5).preemption.least_nodes == 5
    term = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
    required = {"nodeSelectorTerms": [term]}
    added = read(
        "NodeAffinity", addedAffinity={"requiredDuringSchedulingIgnoredDuringExecution": required}
    ).added_affinity
    assert added is not None
    assert added.required is not None
    assert len(added.required.node_selector_terms) == 1


def test_volumes_may_wait_for_no_time_at_all() -> None:
    given = [PluginArguments(name="VolumeBinding", args={"bindTimeoutSeconds": 0})]
    assert read_volume_arguments(given, "") == VolumeArguments(timedelta(), None)
    assert read_volume_arguments([], "") == VolumeArguments()


def test_a_plugin_is_told_once() -> None:
    twice = [PluginArguments(name="NodeAffinity")] * 2
    with pytest.raises(ConfigError, match=r'pluginConfig\[1\]: Duplicate value: "NodeAffinity"'):
        read_arguments(twice, DEFAULT_PROFILE, "pluginConfig")


RATIO = {"type": "RequestedToCapacityRatio"}
LEAST = {"type": "LeastAllocated"}


def test_a_resource_that_is_named_twice_counts_twice() -> None:
    resources = [{"name": "cpu", "weight": 2}, {"name": "cpu"}]
    profile = read("NodeResourcesFit", scoringStrategy=LEAST | {"resources": resources})
    assert profile.resources.weights == (("cpu", 3),)


def test_plugins_without_arguments_ignore_what_they_are_told() -> None:
    assert read("NodeName", planets=9) == DEFAULT_PROFILE


def test_what_is_said_about_resource_claims_has_no_effect() -> None:
    assert read("DynamicResources", filterTimeout="10s", bindingTimeout="600s") == DEFAULT_PROFILE


@pytest.mark.parametrize(
    ("name", "args", "complaint"),
    [
        pytest.param("Mine", {}, "Mine: has no arguments here", id="another-plugin"),
        pytest.param(
            "NodeAffinity",
            {"kind": "NodeResourcesFitArgs"},
            "not of type NodeAffinityArgs, got NodeResourcesFitArgs",
            id="another-kind",
        ),
        pytest.param(
            "NodeAffinity",
            {
                "addedAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "a", "operator": "In"}]}
                        ]
                    }
                }
            },
            "values set can't be empty",
            id="nodes-that-cannot-be-read",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": {"resources": [{"name": "cpu"}]}},
            'scoringStrategy.type: Unsupported value: ""',
            id="no-type",
        ),
        pytest.param("NodeResourcesFit", {"strategy": {}}, "strategy", id="unknown-field"),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
            "requestedToCapacityRatio: Required value: must be specified when type is",
            id="no-ratio",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": RATIO | {"requestedToCapacityRatio": {"shape": []}}},
            "at least one point",
            id="no-shape",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": LEAST | {"requestedToCapacityRatio": {"shape": []}}},
            "requestedToCapacityRatio: Forbidden: must be nil when type is not",
            id="a-ratio-of-another-type",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": LEAST | {"resources": [{"name": "cpu", "weight": 101}]}},
            r"weight: Invalid value: 101: resource weight of cpu not in valid range \(0, 100\]",
            id="too-heavy",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu"}, {"name": "cpu"}]},
            'Duplicate value: "cpu"',
            id="a-resource-twice",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 2}]},
            "weight: Invalid value: 2: must be 1",
            id="a-weight",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"ignoredResources": ["example.com/foo", "-"]},
            r'ignoredResources\[1\]: Invalid value: "-": ',
            id="not-a-resource",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"ignoredResourceGroups": ["a.b/c"]},
            "can't contain '/'",
            id="not-a-group",
        ),
        pytest.param(
            "InterPodAffinity", {"hardPodAffinityWeight": 101}, r"\[0, 100\]", id="not-a-weight"
        ),
        pytest.param(
            "PodTopologySpread", {"defaultConstraints": [HOSTS]}, "are not empty", id="both"
        ),
        pytest.param(
            "PodTopologySpread",
            {"defaultingType": "List", "defaultConstraints": [HOSTS | {"labelSelector": {}}]},
            "must not define a selector",
            id="a-selector",
        ),
        pytest.param(
            "PodTopologySpread",
            {"defaultingType": "List", "defaultConstraints": [HOSTS | {"maxSkew": 0}]},
            r"maxSkew: Invalid value: 0: not in valid range \(0, inf\)",
            id="no-skew",
        ),
        pytest.param(
            "PodTopologySpread",
            {"defaultingType": "List", "defaultConstraints": [HOSTS | {"topologyKey": "-"}]},
            'topologyKey: Invalid value: "-": ',
            id="not-a-key",
        ),
        pytest.param(
            "PodTopologySpread",
            {"defaultingType": "List", "defaultConstraints": [HOSTS | {"whenUnsatisfiable": ""}]},
            "whenUnsatisfiable: Required value: can not be empty",
            id="no-action",
        ),
        pytest.param(
            "PodTopologySpread",
            {"defaultingType": "List", "defaultConstraints": [HOSTS, HOSTS]},
            "Duplicate value",
            id="a-constraint-twice",
        ),
        pytest.param(
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            "minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time",
            id="no-candidates",
        ),
        pytest.param(
            "DefaultPreemption",
            {"minCandidateNodesAbsolute": -1},
            r"Invalid value: -1: not in valid range \[0, inf\)",
            id="less-than-no-candidates",
        ),
        pytest.param("DynamicResources", {"planets": 9}, "planets", id="unknown-of-claims"),
        pytest.param(
            "DynamicResources",
            {"filterTimeout": "-1s"},
            "zero or positive",
            id="no-time-for-claims",
        ),
    ],
)
def test_arguments_are_checked_as_kube_scheduler_does(
    name: str, args: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read(name, **args)
