import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from plimsoll.ui.cli.main import cli
from tests.servers import EmbeddedServer, Endpoint

PLIMSOLL = str(Path(sys.executable).with_name("plimsoll"))
TIME_LIMIT_SECONDS = 90


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--kubeconfig", "/nowhere"], "/nowhere"),
        (["--capacity", "cpu"], "write NAME=VALUE"),
        (["--capacity", "cpu=many"], "--capacity: cpu"),
        (["--labels", "=x"], "--labels"),
        (["--pod-cidr", "here"], "--pod-cidr"),
        (["--lease-renew", "often"], "is not a duration"),
        (["--drivers", "x=/run/x.sock"], "only for hollow nodes"),
        (["--hollow", "0"], "--hollow"),
    ],
)
def test_bad_usage_is_refused_with_a_reason(
    tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    command = ["node", "--data-dir", str(tmp_path), *arguments]
    outcome = CliRunner().invoke(cli, command)
    assert outcome.exit_code == 2
    assert complaint in outcome.output


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with EmbeddedServer(tmp_path_factory.mktemp("server")) as server:
        yield server.endpoint


def started(endpoint: Endpoint, *arguments: str) -> subprocess.Popen[str]:
    command = [PLIMSOLL, "node", "--kubeconfig", str(endpoint.kubeconfig), "--metrics-port", "0"]
    return subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    )


def stopped(process: subprocess.Popen[str]) -> int:
    process.send_signal(signal.SIGTERM)
    code = process.wait(30)
    if process.stdout is not None:
        process.stdout.close()
    return code


def ready_nodes(endpoint: Endpoint) -> list[str]:
    _, listed = endpoint.request("GET", "/api/v1/nodes")
    return sorted(node["metadata"]["name"] for node in listed["items"] if is_ready(node))


def is_ready(node: dict[str, Any]) -> bool:
    conditions = node["status"].get("conditions") or []
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def wait_for_nodes(endpoint: Endpoint, *names: str) -> None:
    deadline = time.monotonic() + TIME_LIMIT_SECONDS
    while not set(names) <= set(ready_nodes(endpoint)):
        assert time.monotonic() < deadline, ready_nodes(endpoint)
        time.sleep(0.05)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_it_becomes_a_node_has_its_directory_alone_and_ends_on_sigterm(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    arguments = ["--node-name", "alpha", "--data-dir", str(tmp_path), "--labels", "rack=r1"]
    process = started(endpoint, *arguments)
    try:
        line = first_line(process)
        assert line.startswith("plimsoll node ready; metrics http://127.0.0.1:")
        assert line.endswith("; alpha\n")
        wait_for_nodes(endpoint, "alpha")
        command = [PLIMSOLL, "node", "--kubeconfig", str(endpoint.kubeconfig), *arguments]
        second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert second.returncode == 2
        assert "another plimsoll node uses it" in second.stderr
    finally:
        assert stopped(process) == 0
    _, node = endpoint.request("GET", "/api/v1/nodes/alpha")
    assert node["metadata"]["labels"]["rack"] == "r1"


def test_many_hollow_nodes_need_no_directory(endpoint: Endpoint, tmp_path: Path) -> None:
    arguments = ["--hollow", "20", "--name-prefix", "h-", "--data-dir", str(tmp_path / "none")]
    process = started(endpoint, *arguments)
    try:
        assert first_line(process).endswith("; 20 hollow nodes\n")
        wait_for_nodes(endpoint, *(f"h-{number}" for number in range(20)))
    finally:
        assert stopped(process) == 0
    assert not (tmp_path / "none").exists()
