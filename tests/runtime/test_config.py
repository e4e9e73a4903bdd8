from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll.runtime.config import ConfigError, Settings, Sources, load_settings, parse_duration


class Example(Settings, frozen=True, kw_only=True):
    scheduler_name: str = "plimsoll"
    port: int = 10259
    bind_timeout: timedelta = timedelta(minutes=10)
    verbose: bool = False


def load(tmp_path: Path, text: str = "", **sources: object) -> Example:
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    environment = sources.get("environment", {})
    flags = sources.get("flags", {})
    assert isinstance(environment, dict)
    assert isinstance(flags, dict)
    return load_settings(
        Example, Sources(file=file, environment=environment, prefix="PLIMSOLL_X", flags=flags)
    )


def test_without_any_source_the_defaults_hold(tmp_path: Path) -> None:
    assert load(tmp_path) == Example()


def test_flags_beat_the_environment_which_beats_the_file(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        "schedulerName: file\nport: 1\nbindTimeout: 1m30s\n",
        environment={"PLIMSOLL_X_SCHEDULER_NAME": "env", "PLIMSOLL_X_PORT": "2", "HOME": "/"},
        flags={"port": 3, "verbose": None},
    )
    assert settings == Example(
        scheduler_name="env", port=3, bind_timeout=timedelta(seconds=90), verbose=False
    )


@pytest.mark.parametrize(
    ("text", "environment", "flags", "said"),
    [
        pytest.param(
            "prot: 1", {}, {}, r"settings\.yaml: unknown setting prot; known.*port", id="file"
        ),
        pytest.param(
            "",
            {"PLIMSOLL_X_PROT": "1"},
            {},
            "environment: unknown setting PLIMSOLL_X_PROT",
            id="env",
        ),
        pytest.param("", {}, {"prot": 1}, "--prot: unknown setting", id="flag"),
        pytest.param("port: many", {}, {}, r"settings\.yaml: .*port", id="wrong-type-in-file"),
        pytest.param(
            "", {"PLIMSOLL_X_PORT": "many"}, {}, "PLIMSOLL_X_PORT: .*port", id="wrong-type-in-env"
        ),
        pytest.param("bindTimeout: soon", {}, {}, '"soon" is not a duration', id="bad-duration"),
        pytest.param("- a", {}, {}, "must hold settings by name", id="no-mapping"),
        pytest.param("a: [", {}, {}, "is not YAML", id="no-yaml"),
    ],
)
def test_a_wrong_setting_is_an_error_that_says_where_it_came_from(
    tmp_path: Path, *, text: str, environment: dict[str, str], flags: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        load(tmp_path, text, environment=environment, flags=flags)


def test_what_kubelet_sets_for_services_is_no_setting(tmp_path: Path) -> None:
    """As in a container beside Services that are called `plimsoll-x` and `plimsoll-x-metrics`."""
    environment = {
        "PLIMSOLL_X_SERVICE_HOST": "10.0.0.7",
        "PLIMSOLL_X_SERVICE_PORT": "80",
        "PLIMSOLL_X_SERVICE_PORT_HTTP": "80",
        "PLIMSOLL_X_PORT": "tcp://10.0.0.7:80",
        "PLIMSOLL_X_PORT_80_TCP": "tcp://10.0.0.7:80",
        "PLIMSOLL_X_PORT_80_TCP_PROTO": "tcp",
        "PLIMSOLL_X_PORT_80_TCP_PORT": "80",
        "PLIMSOLL_X_PORT_80_TCP_ADDR": "10.0.0.7",
        "PLIMSOLL_X_METRICS_SERVICE_HOST": "10.0.0.8",
        "PLIMSOLL_X_METRICS_PORT": "udp://10.0.0.8:53",
    }
    assert load(tmp_path, environment=environment) == Example()


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(Example, Sources(file=tmp_path / "nowhere.yaml"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("1m30s", 90), ("1.5h", 5400), ("250ms", 0.25), ("2d", 172800), ("0", 0)],
)
def test_durations_are_written_with_their_units(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)
