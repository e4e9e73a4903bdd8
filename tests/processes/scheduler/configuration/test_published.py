"""What a scheduler publishes of its profiles is what it judges by."""

from pathlib import Path

import pytest

from plimsoll.decide.scheduling.judge import KernelSettings
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.processes.scheduler.configuration.published import (
    judged_by,
    parse_published,
    profiles_in,
    published_profiles,
)
from plimsoll.processes.scheduler.settings import load, profiles_of
from plimsoll.runtime.config import ConfigError

FILE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: careless
  plugins:
    filter: {disabled: [{name: TaintToleration}]}
    preFilter: {disabled: [{name: TaintToleration}]}
- schedulerName: shaped
  pluginConfig:
  - name: VolumeBinding
    args: {shape: [{utilization: 0, score: 10}, {utilization: 100, score: 0}]}
- schedulerName: usual
"""
SINGLE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: shaped
  pluginConfig:
  - name: VolumeBinding
    args: {shape: [{utilization: 0, score: 10}, {utilization: 100, score: 0}]}
"""


@pytest.mark.parametrize("text", [FILE, SINGLE], ids=["several", "one"])
def test_pods_are_judged_by_what_was_published(text: str, tmp_path: Path) -> None:
    file = tmp_path / "configuration.yaml"
    file.write_text(text)
    settings = load(file, {}, {})

    published = published_profiles(settings)

    assert {name: parse_published(each, Policy.DEFAULT) for name, each in published.items()} == {
        each.name: judged_by(each, Policy.DEFAULT) for each in profiles_of(settings)
    }
    assert profiles_in(file) == {each.name: each for each in profiles_of(settings)}


def test_a_scheduler_that_judges_by_default_publishes_no_profile() -> None:
    assert published_profiles(load(None, {}, {})) == {"plimsoll": ""}
    assert parse_published("", Policy.COMPATIBLE) == KernelSettings(policy=Policy.COMPATIBLE)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{", id="no-json"),
        pytest.param('{"profile": {"planets": []}}', id="another-version"),
        pytest.param(
            '{"profile": {"plugins": {"score": {"enabled": [{"name": "Mine"}]}}}}', id="unknown"
        ),
    ],
)
def test_what_is_not_understood_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_published(text, Policy.DEFAULT)
