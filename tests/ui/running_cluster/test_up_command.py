"""The command that has a directory is found, and no other process is taken for it."""

import os
from pathlib import Path

import pytest

from plimsoll.runtime.clock import SystemClock
from plimsoll.ui.local_cluster.directory_lock import COMMAND_LOCK, locked
from plimsoll.ui.running_cluster.up_command import found_up_command


async def test_the_process_that_has_the_directory_is_found(tmp_path: Path) -> None:
    async with locked(tmp_path, SystemClock()):
        with found_up_command(tmp_path) as command:
            assert command is not None
            assert command.pid == os.getpid()


async def test_a_process_that_has_left_the_directory_is_not(tmp_path: Path) -> None:
    async with locked(tmp_path, SystemClock()):
        pass
    assert (tmp_path / COMMAND_LOCK).read_text().strip() == str(os.getpid())
    with found_up_command(tmp_path) as command:
        assert command is None


@pytest.mark.parametrize("text", ["", "x\n", "0\n", f"{2**22 + 1}\n"])
def test_a_lock_that_names_no_process_leads_to_none(tmp_path: Path, text: str) -> None:
    (tmp_path / COMMAND_LOCK).write_text(text)
    with found_up_command(tmp_path) as command:
        assert command is None


def test_a_directory_without_a_cluster_leads_to_none(tmp_path: Path) -> None:
    with found_up_command(tmp_path / "missing") as command:
        assert command is None
