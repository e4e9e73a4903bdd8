import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ceph import abandoned_cluster, guardian
from tests.ceph.loopback_cluster import LoopbackCluster

ROOT = Path(__file__).parents[2]


def eventually(is_so: Callable[[], bool]) -> bool:
    until = time.monotonic() + 30
    while not is_so() and time.monotonic() < until:
        time.sleep(0.1)
    return is_so()


def traces(directory: Path) -> list[object]:
    """Everything that is there of a cluster."""
    found = [*guardian.processes(directory), *guardian.mounts(directory)]
    return [*found, *guardian.loop_devices(directory), *([directory] if directory.exists() else [])]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
def test_a_killed_run_leaves_nothing(number: signal.Signals) -> None:
    """Neither daemon nor file; nor mount nor loop device, where there can be any."""
    run = subprocess.Popen(
        [sys.executable, "-m", abandoned_cluster.__name__],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    with run:
        assert run.stdout
        directory = Path(run.stdout.readline().strip())
        daemons, mounted = [*guardian.processes(directory)], guardian.mounts(directory)
        os.killpg(run.pid, number)
    assert len(daemons) >= 5
    assert bool(mounted) == (os.geteuid() == 0)
    assert eventually(lambda: traces(directory) == [])


def test_a_process_with_a_similar_directory_is_left_alone(cluster: LoopbackCluster) -> None:
    similar = Path(f"{cluster.directory}0")
    assert list(guardian.processes(similar)) == []
    waiting = [sys.executable, "-c", "import time; time.sleep(60)", f"{similar}/ceph.conf"]
    with subprocess.Popen(waiting) as other:
        assert other.pid not in guardian.processes(cluster.directory)
        other.kill()
