"""The `plimsoll` command itself, whichever command is called."""

import gc
from collections.abc import Iterator

import pytest

from plimsoll.ui.cli.main import main


@pytest.fixture(autouse=True)
def _collector_as_before() -> Iterator[None]:
    yield
    gc.enable()
    gc.unfreeze()


def test_garbage_is_collected_again_once_the_command_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["plimsoll", "up", "--help"])

    with pytest.raises(SystemExit):
        main()

    assert gc.isenabled()
    assert gc.get_freeze_count() > 0, "what was loaded is looked at again and again"


def test_the_version_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["plimsoll", "--version"])

    with pytest.raises(SystemExit):
        main()

    assert capsys.readouterr().out.startswith("plimsoll, version ")
