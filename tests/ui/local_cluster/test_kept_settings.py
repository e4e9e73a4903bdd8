from pathlib import Path

import pytest

from plimsoll.runtime.config import ConfigError
from plimsoll.ui.local_cluster.kept_settings import (
    MOST_REAL_NODES,
    ClusterSettings,
    keep,
    read,
    settle,
)


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    settings = ClusterSettings(port=4711, nodes=5, disk_size="1Gi")
    keep(tmp_path, settings)
    assert read(tmp_path) == settings


def test_what_has_not_changed_is_not_written_again(tmp_path: Path) -> None:
    """So the next start needs no room on a full disk."""
    keep(tmp_path, ClusterSettings(port=4711))
    before = (tmp_path / "settings.yaml").stat().st_ino
    keep(tmp_path, ClusterSettings(port=4711))
    assert (tmp_path / "settings.yaml").stat().st_ino == before
    keep(tmp_path, ClusterSettings(port=4712))
    assert (tmp_path / "settings.yaml").stat().st_ino != before


def test_a_first_start_has_nothing_to_compare_with(tmp_path: Path) -> None:
    assert read(tmp_path) is None
    assert settle(None, {"nodes": 2}).changes == ()


def test_an_option_that_is_not_given_stays_as_it_was() -> None:
    before = ClusterSettings(port=4711, nodes=2, disk_size="1Gi")
    settlement = settle(before, {"nodes": None, "disk_size": None, "port": None})
    assert settlement.settings == before
    assert settlement.changes == ()


def test_what_changes_is_told_with_both_values() -> None:
    settlement = settle(ClusterSettings(disk_size="10Gi"), {"disk_size": "5Gi", "nodes": 4})
    assert settlement.changes == (
        "--nodes: 3 before, 4 now",
        "--disk-size: 10Gi before, 5Gi now",
    )


@pytest.mark.parametrize(
    ("nodes", "hollow"), [(MOST_REAL_NODES, False), (MOST_REAL_NODES + 1, True)]
)
def test_many_nodes_are_hollow_unless_told_otherwise(nodes: int, *, hollow: bool) -> None:
    assert settle(None, {"nodes": nodes}).settings.hollow is hollow
    assert settle(None, {"nodes": nodes, "hollow": not hollow}).settings.hollow is not hollow


@pytest.mark.parametrize("asked", [{"hollow": True}, {"nodes": 200}], ids=["said", "by number"])
def test_real_nodes_do_not_become_hollow(asked: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"3 real nodes.*add --real, or give another --data-dir"):
        settle(ClusterSettings(), asked)


def test_an_unknown_setting_is_refused(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("nodse: 3\n")
    with pytest.raises(ConfigError, match="nodse"):
        read(tmp_path)


def test_a_free_port_is_chosen_anew_when_it_is_asked_for() -> None:
    settlement = settle(ClusterSettings(port=4711), {"port": 0})
    assert settlement.settings.port == 0
    assert settlement.changes == ("--port: 4711 before, a free one now",)
