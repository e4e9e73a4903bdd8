"""`plimsoll up` as a user starts it: the whole path on hollow nodes, and a second life."""

import fcntl
import os
import re
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from plimsoll.ui.cli.main import cli
from plimsoll.ui.demo.objects import database, namespace
from plimsoll.ui.demo.stage import CLAIMS
from plimsoll.ui.local_cluster.objects import LOCAL, POOLS
from plimsoll.wire.parameters import Selection
from plimsoll.wire.probe import is_answered
from tests.ui.started import (
    COMMAND,
    RUNNING,
    SECONDS,
    addresses,
    client,
    create,
    phases,
    short_directory,
    up,
)

DRIVERS = (LOCAL, POOLS)


@pytest.fixture
def short() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory


def contents(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.glob("*.yaml")}


def is_socket(address: str) -> bool:
    return Path(address.removeprefix("unix://")).is_socket()


async def is_reached(data: Path, address: str) -> bool:
    if address.startswith("unix://"):
        return is_socket(address)
    authority = data / "apiserver" / "pki" / "ca.crt"
    trust = ssl.create_default_context(cafile=authority) if address.startswith("https") else None
    return await is_answered(address, timedelta(seconds=SECONDS), trust)


def already_running(data: Path, *options: str) -> int:
    """The process that a second start names."""
    ended = subprocess.run(
        [*COMMAND, "--data-dir", str(data), *options], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    (pid,) = re.findall(r"already running, pid (\d+)", ended.stderr)
    return int(pid)


@pytest.mark.timeout(300)
async def test_pods_on_hollow_nodes_are_there_after_a_restart_in_either_form(
    short: Path,
) -> None:
    with up(short, "--nodes", "20") as first:
        kept = contents(short / "drivers")
        assert already_running(short, "--disk-size", "1Gi") == first.pid
        assert contents(short / "drivers") == kept
        listed = addresses(short)
        assert [name for name, _ in listed] == [
            *("apiserver", "control-plane", "controller", "scheduler"),
            *(f"provisioner {d}" for d in DRIVERS),
            *("machine", "hollow nodes"),
            *(f"driver {d}" for d in DRIVERS),
        ]
        assert [each for each in listed if not await is_reached(short, each[1])] == []
        kube = client(short)
        await create(kube, namespace(), database())
        await phases(kube, RUNNING)
        claims = (await kube.list(CLAIMS, Selection(namespace="demo"))).items
        assert {claim.status.phase for claim in claims} == {"Bound"}
        await kube.close()
        uids = {claim.uid for claim in claims}
    for form in (["--separate"], []):
        with up(short, *form):
            kube = client(short)
            await phases(kube, RUNNING)
            claims = (await kube.list(CLAIMS, Selection(namespace="demo"))).items
            assert {claim.uid for claim in claims} == uids
            await kube.close()


@pytest.mark.timeout(300)
def test_the_demo_ends_well_and_leaves_nothing(short: Path) -> None:
    command = [sys.executable, "-c", "from plimsoll.ui.cli.main import main; main()"]
    done = subprocess.run(
        [*command, "demo", "--once"],
        env={**os.environ, "TMPDIR": str(short)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "the room is back" in done.stdout
    assert list(short.iterdir()) == []
    assert str(short) not in Path("/proc/self/mounts").read_text()


def test_a_directory_that_is_too_long_for_sockets_is_refused(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 90)
    outcome = CliRunner().invoke(cli, ["up", "--data-dir", str(deep)])
    assert outcome.exit_code == 2
    assert "choose a shorter one" in outcome.output
    assert not deep.exists()


def is_free(data: Path) -> bool:
    """No process of the cluster is left: each of them holds this lock."""
    with (data / "processes.lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def stopped_when(data: Path, there: str, number: signal.Signals) -> int:
    """The exit code of a start that gets a signal once it has made that file."""
    (data / there).unlink(missing_ok=True)
    process = subprocess.Popen([*COMMAND, "--data-dir", str(data), "--hollow"])
    deadline = time.monotonic() + SECONDS
    while not (data / there).exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
    process.send_signal(number)
    return process.wait(SECONDS)


@pytest.mark.timeout(300)
def test_a_start_can_be_stopped_at_any_moment_and_done_again(short: Path) -> None:
    """Its lock is the first thing that a start makes, the socket of a driver nearly the last."""
    assert stopped_when(short, "up.lock", signal.SIGINT) == 130
    assert stopped_when(short, "kubeconfig", signal.SIGINT) == 130
    assert stopped_when(short, "run/local-hollow-0.sock", signal.SIGTERM) == 143
    assert is_free(short)
    with up(short):
        assert not is_free(short)
    assert is_free(short)


@pytest.mark.timeout(300)
def test_a_signal_stops_a_cluster_whose_output_is_read_by_no_process_any_more(short: Path) -> None:
    """As with `plimsoll up 2>&1 | head -1`: the first line is there, and the reader has left."""
    command = [*COMMAND, "--data-dir", str(short), "--hollow"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    while not process.stdout.readline().startswith("plimsoll is up"):
        assert process.poll() is None
    process.stdout.close()
    process.send_signal(signal.SIGINT)
    assert process.wait(SECONDS) == 0
    assert is_free(short)


def test_ctrl_c_before_anything_is_loaded_is_no_traceback(tmp_path: Path) -> None:
    """The command is interrupted where it loads its modules."""
    program = (
        "import signal, os, sys\n"
        "from plimsoll.ui.cli.main import main\n"
        "sys.addaudithook(lambda event, args: event == 'import' and args[0] == 'uvloop'"
        " and os.kill(os.getpid(), signal.SIGINT))\n"
        "main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, "up", "--data-dir", str(tmp_path / "cluster")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 130
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "cluster").exists()


@pytest.mark.parametrize("flag", ["--disk-size", "--memory"])
def test_a_size_without_a_unit_is_bad_usage(tmp_path: Path, flag: str) -> None:
    outcome = CliRunner().invoke(cli, ["up", "--data-dir", str(tmp_path / "c"), flag, "5"])
    assert outcome.exit_code == 2
    assert "'5' has no unit; write it like 5Gi" in outcome.output
    assert not (tmp_path / "c").exists()


def test_an_unknown_repair_rule_is_bad_usage_and_starts_nothing(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(cli, ["up", "--data-dir", str(tmp_path / "c"), "--repair", "all"])
    assert outcome.exit_code == 2
    assert "--repair: unknown all; known: selected-node" in outcome.output
    assert not (tmp_path / "c").exists()


def test_a_directory_that_cannot_be_made_is_named_before_the_reason(short: Path) -> None:
    (short / "f").touch()
    directory = short / "f" / "d"
    result = CliRunner().invoke(cli, ["up", "--data-dir", str(directory)])
    assert (result.exit_code, result.output) == (1, f"Error: {directory}: Not a directory\n")
