from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from plimsoll.processes.controller.in_process.provisioners import registry
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    ProvisionerEnvironment,
)
from plimsoll.processes.controller.in_process.provisioners.registry import (
    GROUP,
    Installation,
    ProvisionerSetupError,
    Registry,
    installed,
)
from tests.builders import a_volume


def test_both_provisioners_that_come_along_are_found(tmp_path: Path) -> None:
    found = installed(Installation(directory=tmp_path))
    assert found.names == ["plimsoll.dev/host-path", "plimsoll.dev/zonal-disk"]
    assert found.find("disk.example.com") is None
    assert found.find_for_source(a_volume()) is None


def test_options_for_a_provisioner_that_is_not_installed_are_an_error(tmp_path: Path) -> None:
    options = {"disk.example.com": {"a": "b"}}
    with pytest.raises(ProvisionerSetupError, match=r"disk\.example\.com, but installed are only"):
        installed(Installation(directory=tmp_path, options=options))


def test_a_provisioner_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    options = {"plimsoll.dev/host-path": {"root": "not/absolute"}}
    with pytest.raises(ProvisionerSetupError, match="host-path: root: not/absolute"):
        installed(Installation(directory=tmp_path, options=options))


def test_an_option_that_a_provisioner_needs_is_an_error_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def needing(environment: ProvisionerEnvironment) -> str:
        return environment.options["address"]

    entry = EntryPoint(name="acme.example/shares", value="acme:make", group=GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda **_: [entry])
    monkeypatch.setattr(EntryPoint, "load", lambda _: needing)
    words = r"'address'; .*--provisioner-option acme\.example/shares:NAME=VALUE"
    with pytest.raises(ProvisionerSetupError, match=words):
        installed(Installation(directory=tmp_path))


def test_an_entry_point_that_makes_something_else_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = EntryPoint(name="stray.example.com", value="builtins:str", group=GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda **_: [stray])
    with pytest.raises(ProvisionerSetupError, match="does not make a Provisioner of that name"):
        installed(Installation(directory=tmp_path))


def test_nothing_is_found_in_an_empty_registry() -> None:
    assert Registry().names == []
