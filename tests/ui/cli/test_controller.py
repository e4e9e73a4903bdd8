import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from click.testing import CliRunner

from plimsoll.processes.controller.loops import LOOPS
from plimsoll.ui.cli.main import cli
from tests.servers import EmbeddedServer

PLIMSOLL = Path(sys.executable).with_name("plimsoll")


def test_the_help_lists_every_loop() -> None:
    shown = CliRunner().invoke(cli, ["controller", "--help"]).output
    for name, entry in LOOPS.items():
        assert re.search(rf"^ +{name} .*{re.escape(entry.about)}$", shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--kubeconfig", "/nowhere"], "/nowhere"),
        (["--provisioner-option", "root=/srv"], "write NAME:KEY=VALUE"),
        (["--metrics-port", "http"], "--metrics-port"),
        (["--repair-node-lost-after", "soon"], "is not a duration"),
    ],
)
def test_bad_usage_is_refused_with_a_reason(arguments: list[str], complaint: str) -> None:
    outcome = CliRunner().invoke(cli, ["controller", *arguments])
    assert outcome.exit_code == 2
    assert complaint in outcome.output


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with EmbeddedServer(tmp_path_factory.mktemp("server")) as server:
        yield server.endpoint.kubeconfig


NO_SERVER_THERE = """
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
users: [{name: a, user: {}}]
current-context: a
"""


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--controllers", "bnding"], "unknown controllers: bnding"),
        (["--repair", "magic"], "unknown magic; known: selected-node"),
        (["--provisioner-option", "plimsoll.dev/host-path:root=here"], "not an absolute path"),
    ],
)
def test_settings_that_make_no_sense_end_the_process_before_a_server_is_asked(
    tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(NO_SERVER_THERE)
    command = ["controller", "--kubeconfig", str(kubeconfig), "--metrics-port", "0", *arguments]
    ended = subprocess.run(
        [PLIMSOLL, *command], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2
    assert complaint in ended.stderr


def test_it_says_when_it_is_ready_and_ends_on_sigterm(kubeconfig: Path, tmp_path: Path) -> None:
    command = ["controller", "--kubeconfig", str(kubeconfig), "--metrics-port", "0"]
    command += ["--data-dir", str(tmp_path), "--no-leader-elect"]
    process = subprocess.Popen(
        [PLIMSOLL, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with process:
        assert process.stdout is not None
        ready = process.stdout.readline()
        try:
            assert ready.startswith("plimsoll controller ready; metrics http://127.0.0.1:")
            assert "binding" in ready
            found = re.search(r"127\.0\.0\.1:(\d+)", ready)
            assert found is not None
            connection = HTTPConnection("127.0.0.1", int(found[1]), timeout=10)
            connection.request("GET", "/metrics")
            assert b"workqueue_depth" in connection.getresponse().read()
            connection.close()
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
