"""Several profiles of one scheduler."""

from datetime import timedelta

import pytest

from plimsoll.decide.scheduling.profiles.profile import DEFAULT_PROFILE
from plimsoll.decide.scheduling.rules.volume_binding.score import DEFAULT_SHAPE
from plimsoll.processes.scheduler.configuration.form import ProfileSettings
from plimsoll.processes.scheduler.configuration.profiles import NamedProfile, read_profiles
from plimsoll.runtime.config import ConfigError

USUAL = NamedProfile(name="usual", bind_timeout=timedelta(seconds=1), shape=DEFAULT_SHAPE)


def test_without_profiles_there_is_the_usual_one() -> None:
    assert read_profiles((), USUAL) == (USUAL,)


def test_what_a_profile_does_not_say_is_as_usual() -> None:
    (only,) = read_profiles((ProfileSettings(),), USUAL)
    assert only == USUAL
    assert only.profile is DEFAULT_PROFILE


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        pytest.param(("a", ""), r"profiles\[1\].schedulerName: Required value", id="no-name"),
        pytest.param(("a", "a"), r'profiles\[1\].schedulerName: Duplicate value: "a"', id="twice"),
    ],
)
def test_every_profile_has_a_name_of_its_own(names: tuple[str, ...], complaint: str) -> None:
    given = [ProfileSettings(scheduler_name=name) for name in names]
    with pytest.raises(ConfigError, match=complaint):
        read_profiles(given, USUAL)


def test_a_percentage_is_one() -> None:
    with pytest.raises(ConfigError, match="percentageOfNodesToScore"):
        read_profiles((ProfileSettings(percentage_of_nodes_to_score=101),), USUAL)
