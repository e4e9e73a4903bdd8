"""Profiles as a scheduler publishes them on its leases, and as `explain` reads them there.

What is published is what the file said: a reader of another version either understands it or says
that it does not.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from plimsoll.decide.scheduling.judge import KernelSettings
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.profiles.profile import DEFAULT_PROFILE
from plimsoll.decide.scheduling.rules.volume_binding.score import DEFAULT_SHAPE
from plimsoll.processes.scheduler.configuration.form import ProfileSettings, ShapePoint
from plimsoll.processes.scheduler.configuration.profiles import NamedProfile
from plimsoll.processes.scheduler.settings import SchedulerSettings, load, profiles_of
from plimsoll.runtime.config import ConfigError


class PublishedProfile(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    profile: ProfileSettings = ProfileSettings()
    shape: tuple[ShapePoint, ...] = ()
    """How good it is to fill storage, where the profile does not say."""


def published_profiles(settings: SchedulerSettings) -> Mapping[str, str]:
    """By scheduler name; empty: it judges by default. Raises ConfigError."""
    given = settings.profiles or (ProfileSettings(),)
    pairs = zip(profiles_of(settings), given, strict=True)
    return {named.name: _published(named, each, settings) for named, each in pairs}


def _published(named: NamedProfile, given: ProfileSettings, settings: SchedulerSettings) -> str:
    if named.profile == DEFAULT_PROFILE and named.shape == DEFAULT_SHAPE:
        return ""
    return msgspec.json.encode(PublishedProfile(profile=given, shape=settings.shape)).decode()


def parse_published(text: str, policy: Policy) -> KernelSettings:
    """How pods are judged by it. Raises ConfigError."""
    if not text:
        return KernelSettings(policy=policy)
    try:
        found = msgspec.json.decode(text, type=PublishedProfile)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"profile: {error}") from error
    settings = SchedulerSettings(profiles=(found.profile,), shape=found.shape)
    return judged_by(profiles_of(settings)[0], policy)


def profiles_in(file: Path) -> Mapping[str, NamedProfile]:
    """Those of a file of a scheduler, by scheduler name. Raises ConfigError."""
    return {each.name: each for each in profiles_of(load(file, {}, {}))}


def judged_by(named: NamedProfile, policy: Policy) -> KernelSettings:
    return KernelSettings(policy, named.shape, named.profile)
