from pathlib import Path

from plimsoll.processes.driver.backends.lvm.kernel import why_no_device_mapper


def test_a_missing_device_mapper_is_explained(tmp_path: Path) -> None:
    missing = tmp_path / "control"
    assert why_no_device_mapper(missing) == (
        f"device-mapper is not usable here: {missing}: No such file or directory"
    )


def test_where_it_can_be_opened_nothing_is_said(tmp_path: Path) -> None:
    control = tmp_path / "control"
    control.touch()
    assert why_no_device_mapper(control) == ""
