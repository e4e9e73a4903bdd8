import os
import subprocess
from pathlib import Path

from plimsoll.processes.driver.backends.rbd.fuse_processes import find_all_at, kill_all_at
from plimsoll.runtime.clock import SystemClock


def shows(directory: Path, program: str = "tail") -> subprocess.Popen[bytes]:
    """As rbd-fuse, it has the directory as its last argument, and does not end."""
    return subprocess.Popen([program, "--follow", "/dev/null", os.devnull, "--", directory])


async def test_only_the_program_that_shows_the_directory_is_ended(tmp_path: Path) -> None:
    own, other = tmp_path / "one", tmp_path / "one-more"
    ended, kept = shows(own), shows(other)
    try:
        assert find_all_at(own, "tail") == [ended.pid]
        assert find_all_at(own, "rbd-fuse") == []
        await kill_all_at(own, "tail", SystemClock())
        assert ended.wait() < 0
        assert kept.poll() is None
    finally:
        kept.kill()
        kept.wait()


async def test_where_none_shows_the_directory_nothing_happens(tmp_path: Path) -> None:
    await kill_all_at(tmp_path, "rbd-fuse", SystemClock())
