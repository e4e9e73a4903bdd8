"""Files, environment and flags, and what kube-scheduler's own file means here."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.profiles.profile import DEFAULT_PROFILE, SchedulerPlugin
from plimsoll.decide.scheduling.profiles.resource_scoring import Strategy
from plimsoll.decide.scheduling.rules.volume_binding.score import DEFAULT_SHAPE, Point
from plimsoll.processes.scheduler.settings import (
    SchedulerSettings,
    backoff_of,
    lease_of,
    load,
    profiles_of,
    shape_of,
)
from plimsoll.runtime.config import ConfigError


def written(directory: Path, **fields: Any) -> Path:
    path = directory / "scheduler.yaml"
    path.write_text(yaml.safe_dump(fields))
    return path


def kube(directory: Path, **fields: Any) -> Path:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return written(directory, **(head | fields))


def profile(**arguments: Any) -> list[dict[str, Any]]:
    return [
        {
            "schedulerName": "volumes",
            "pluginConfig": [{"name": "VolumeBinding", "args": arguments}],
        }
    ]


def test_the_defaults_are_those_of_kube_scheduler() -> None:
    settings = load(None, {}, {})
    assert settings == SchedulerSettings()
    assert settings.bind_timeout == timedelta(minutes=10)
    assert shape_of(settings) == DEFAULT_SHAPE
    backoff = backoff_of(settings)
    assert (backoff.first, backoff.limit) == (timedelta(seconds=1), timedelta(seconds=10))


def test_flags_are_stronger_than_the_environment_and_that_than_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, schedulerName="of-file", bindTimeout="1m", policy="compatible")
    environment = {"PLIMSOLL_SCHEDULER_SCHEDULER_NAME": "of-environment"}
    settings = load(file, environment, {"bind_timeout": "30s", "policy": None})
    assert settings.scheduler_name == "of-environment"
    assert settings.bind_timeout == timedelta(seconds=30)
    assert settings.policy is Policy.COMPATIBLE


def test_a_configuration_of_kube_scheduler_is_understood(tmp_path: Path) -> None:
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    file = kube(
        tmp_path,
        leaderElection={
            "leaderElect": False,
            "leaseDuration": "1m30s",
            "renewDeadline": "60s",
            "retryPeriod": "5s",
            "resourceLock": "leases",
            "resourceName": "volumes",
        },
        clientConnection={"kubeconfig": "/etc/kubeconfig", "qps": 5000, "burst": 5000},
        podInitialBackoffSeconds=2,
        podMaxBackoffSeconds=20,
        profiles=profile(kind="VolumeBindingArgs", bindTimeoutSeconds=60, shape=shape),
    )
    settings = load(file, {}, {})
    assert settings.scheduler_name == "volumes"
    assert settings.kubeconfig == "/etc/kubeconfig"
    assert settings.leader_elect is False
    assert lease_of(settings) == ObjectKey("kube-system", "volumes")
    assert settings.leader_elect_lease_duration == timedelta(seconds=90)
    assert settings.leader_elect_renew_deadline == timedelta(seconds=60)
    assert settings.leader_elect_retry_period == timedelta(seconds=5)
    assert settings.bind_timeout == timedelta(minutes=1)
    assert shape_of(settings).points == (Point(0, 0), Point(100, 10))
    assert backoff_of(settings).limit == timedelta(seconds=20)


def test_flags_are_stronger_than_a_configuration_of_kube_scheduler(tmp_path: Path) -> None:
    file = kube(tmp_path, profiles=profile(bindTimeoutSeconds=60))
    settings = load(file, {"PLIMSOLL_SCHEDULER_BIND_TIMEOUT": "2m"}, {"scheduler_name": "by-flag"})
    assert settings.scheduler_name == "by-flag"
    assert settings.bind_timeout == timedelta(minutes=2)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        pytest.param({"extender": []}, "extender", id="unknown-key"),
        pytest.param(
            {"extenders": [{"urlPrefix": "http://localhost"}]},
            "extenders: Plimsoll calls none",
            id="extenders",
        ),
        pytest.param(
            {"profiles": profile(bindTimeout=1)}, "bindTimeout", id="unknown-key-of-the-plugin"
        ),
        pytest.param(
            {"profiles": profile(bindTimeoutSeconds=-1)},
            "Invalid value: -1: should not be a negative value",
            id="negative",
        ),
        pytest.param(
            {"podInitialBackoffSeconds": 0},
            "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
            id="no-backoff",
        ),
        pytest.param(
            {"podInitialBackoffSeconds": 20},
            "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to",
            id="backoff-beyond-its-limit",
        ),
        pytest.param({"parallelism": 0}, "greater than zero", id="nothing-at-once"),
        pytest.param(
            {"percentageOfNodesToScore": 101}, r"not in valid range \[0-100\]", id="no-percentage"
        ),
        pytest.param(
            {"profiles": profile(shape=[])}, "at least one point", id="shape-without-points"
        ),
        pytest.param(
            {
                "profiles": profile(
                    shape=[{"utilization": 9, "score": 1}, {"utilization": 3, "score": 1}]
                )
            },
            "sorted in increasing order",
            id="shape-out-of-order",
        ),
        pytest.param(
            {"profiles": profile(shape=[{"utilization": 101, "score": 1}])},
            "not in valid range",
            id="shape-out-of-range",
        ),
        pytest.param(
            {"profiles": [{"pluginConfig": [{"name": "Coscheduling", "args": {}}]}]},
            "Coscheduling: has no arguments",
            id="a-plugin-of-others",
        ),
        pytest.param({"profiles": [{}, {}]}, "schedulerName: Required value", id="no-names"),
        pytest.param(
            {"profiles": [{"plugins": {"placement": {}}}]}, "placement", id="an-unknown-step"
        ),
        pytest.param(
            {"apiVersion": "kubescheduler.config.k8s.io/v1beta1"}, "v1beta1", id="old-version"
        ),
    ],
)
def test_what_is_not_understood_is_an_error(
    tmp_path: Path, fields: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        load(kube(tmp_path, **fields), {}, {})


@pytest.mark.parametrize(
    ("second", "complaint"),
    [
        pytest.param(
            "VolumeBinding", r'pluginConfig\[1\]: Duplicate value: "VolumeBinding"', id="it"
        ),
        pytest.param(
            "NodeResourcesFit", r"pluginConfig\[1\].args: .*unknown field x", id="another"
        ),
    ],
)
def test_what_a_single_profile_says_of_volumes_hides_no_mistake_after_it(
    tmp_path: Path, second: str, complaint: str
) -> None:
    (only,) = profile(bindTimeoutSeconds=60)
    only["pluginConfig"].append({"name": second, "args": {"x": 1}})
    with pytest.raises(ConfigError, match=complaint):
        profiles_of(load(kube(tmp_path, profiles=[only]), {}, {}))


def test_several_profiles_have_names_and_settings_of_their_own(tmp_path: Path) -> None:
    packing = {
        "schedulerName": "packing",
        "pluginConfig": [
            {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 0}},
            {
                "name": "NodeResourcesFit",
                "args": {"scoringStrategy": {"type": "MostAllocated"}},
            },
        ],
    }
    file = kube(tmp_path, profiles=[{"schedulerName": "default-scheduler"}, packing])
    settings = load(file, {}, {})
    usual, other = profiles_of(settings)
    assert settings.scheduler_name == usual.name == "default-scheduler"
    assert usual.profile == DEFAULT_PROFILE
    assert usual.bind_timeout == timedelta(minutes=10)
    assert other.name == "packing"
    assert other.profile.resources.strategy is Strategy.MOST_ALLOCATED
    assert other.bind_timeout == timedelta()
    with pytest.raises(ConfigError, match="names of their own"):
        load(file, {}, {"scheduler_name": "third"})


def test_our_own_file_may_hold_profiles_too(tmp_path: Path) -> None:
    plugins = {"score": {"disabled": [{"name": "ImageLocality"}]}}
    file = written(tmp_path, schedulerName="ours", profiles=[{"plugins": plugins}])
    (only,) = profiles_of(load(file, {}, {}))
    assert only.name == "ours"
    assert only.profile.weights[SchedulerPlugin.IMAGE_LOCALITY] == 0


def test_unknown_keys_of_our_own_file_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown setting schedulerNmae"):
        load(written(tmp_path, schedulerNmae="x"), {}, {})


def test_a_scheduler_has_a_name() -> None:
    with pytest.raises(ConfigError, match="schedulerName"):
        load(None, {}, {"scheduler_name": ""})


def test_schedulers_of_different_names_have_different_leases() -> None:
    assert lease_of(SchedulerSettings()).name == "plimsoll-scheduler"
    other = lease_of(SchedulerSettings(scheduler_name="default-scheduler"))
    assert other.name == "plimsoll-scheduler-default-scheduler"
