"""All profiles of a scheduler, read and checked: each has a name that no other has."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from plimsoll.decide.scheduling.profiles.profile import DEFAULT_PROFILE, Profile
from plimsoll.decide.scheduling.rules.volume_binding.score import ScoringShape
from plimsoll.processes.scheduler.configuration.arguments import (
    read_arguments,
    read_volume_arguments,
)
from plimsoll.processes.scheduler.configuration.form import ProfileSettings
from plimsoll.processes.scheduler.configuration.plugins import read_plugins
from plimsoll.runtime.config import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedProfile:
    name: str
    profile: Profile = DEFAULT_PROFILE
    bind_timeout: timedelta
    shape: ScoringShape


def read_profiles(
    given: Sequence[ProfileSettings], usual: NamedProfile
) -> tuple[NamedProfile, ...]:
    """`usual` stands in for what a profile does not say; if there is only one profile, its name
    does so in any case. Raises ConfigError."""
    if len(given) > 1:
        _check_names(given)
    found = tuple(_read(each, usual, f"profiles[{index}]") for index, each in enumerate(given))
    return found or (usual,)


def _check_names(given: Sequence[ProfileSettings]) -> None:
    names = [each.scheduler_name for each in given]
    for index, name in enumerate(names):
        if not name:
            raise ConfigError(f"profiles[{index}].schedulerName: Required value")
        if name in names[:index]:
            raise ConfigError(f'profiles[{index}].schedulerName: Duplicate value: "{name}"')


def _read(given: ProfileSettings, usual: NamedProfile, where: str) -> NamedProfile:
    percentage = given.percentage_of_nodes_to_score
    if percentage is not None and not 0 <= percentage <= 100:  # noqa: PLR2004  it is a percentage
        raise ConfigError(
            f"{where}.percentageOfNodesToScore: Invalid value: {percentage}: not in valid range"
            " [0-100]"
        )
    chosen = read_plugins(given.plugins, f"{where}.plugins")
    profile = Profile(without=chosen.without, weights=chosen.weights, preempts=chosen.preempts)
    profile = read_arguments(given.plugin_config, profile, f"{where}.pluginConfig")
    volumes = read_volume_arguments(given.plugin_config, f"{where}.pluginConfig")
    return NamedProfile(
        name=given.scheduler_name or usual.name,
        profile=DEFAULT_PROFILE if profile == DEFAULT_PROFILE else profile,
        bind_timeout=usual.bind_timeout if volumes.bind_timeout is None else volumes.bind_timeout,
        shape=volumes.shape or usual.shape,
    )
