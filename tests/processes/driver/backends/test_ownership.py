from pathlib import Path

from plimsoll.processes.driver.backends.ownership import owner_of
from plimsoll.runtime.ids import system_ids


def test_a_directory_keeps_its_id(tmp_path: Path) -> None:
    assert owner_of(tmp_path, system_ids()) == owner_of(tmp_path, system_ids())


def test_another_directory_has_another_id(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert owner_of(tmp_path, system_ids()) != owner_of(tmp_path / "other", system_ids())
