"""The scheduler as a program: it starts, schedules, serves its metrics, and stops when told to."""

import http.client
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll.simulator.stories.schedulers import HOSTNAME, a_pod
from tests.servers import EmbeddedServer, plimsoll

pytestmark = pytest.mark.xdist_group("scheduler")

PODS = "/api/v1/namespaces/default/pods"
TIME_LIMIT = 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("server")) as running:
        room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        node = {"metadata": {"name": "node-1", "labels": {HOSTNAME: "node-1"}}}
        code, made = running.endpoint.request("POST", "/api/v1/nodes", node)
        assert code == 201
        made["status"] = {"capacity": room, "allocatable": room}
        running.endpoint.request("PUT", "/api/v1/nodes/node-1/status", made)
        yield running


@contextmanager
def running(server: EmbeddedServer, *flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the line it prints when it begins."""
    command = [plimsoll(), "scheduler", "--kubeconfig", str(server.kubeconfig)]
    command += ["--metrics-port", "0", *flags]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def node_of(server: EmbeddedServer, name: str) -> str:
    deadline = time.monotonic() + TIME_LIMIT
    while time.monotonic() < deadline:
        _, pod = server.endpoint.request("GET", f"{PODS}/{name}")
        if node := pod["spec"].get("nodeName"):
            return str(node)
        time.sleep(0.05)
    raise AssertionError(f"{name} has no node")


def page(line: str, path: str) -> tuple[int, str]:
    found = re.search(r"http://127.0.0.1:(\d+)/metrics", line)
    assert found
    connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_it_schedules_says_so_and_ends_when_it_is_told_to(server: EmbeddedServer) -> None:
    server.endpoint.request("POST", PODS, a_pod("first"))
    with running(server, "--policy", "compatible") as (process, line):
        assert line.startswith("plimsoll scheduler ready; metrics http://127.0.0.1:")
        assert line.rstrip().endswith("pods of plimsoll, policy compatible")
        assert node_of(server, "first") == "node-1"
        assert page(line, "/readyz")[0] == page(line, "/healthz")[0] == 200
        _, metrics = page(line, "/metrics")
        assert 'scheduler_pending_pods{queue="active"} 0.0' in metrics
        assert 'scheduler_schedule_attempts_total{profile="plimsoll",result="scheduled"} 1.0' in (
            metrics
        )
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIME_LIMIT) == 0
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll-scheduler"
    _, found = server.endpoint.request("GET", lease)
    assert not found["spec"].get("holderIdentity"), "the next one need not wait"


def test_a_configuration_of_kube_scheduler_can_be_used(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    configuration: dict[str, Any] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": "configured"}],
    }
    path = tmp_path / "kube.yaml"
    path.write_text(yaml.safe_dump(configuration))
    server.endpoint.request("POST", PODS, a_pod("second", schedulerName="configured"))
    with running(server, "--config", str(path)) as (_, line):
        assert "pods of configured" in line
        assert node_of(server, "second") == "node-1"


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(["--policy", "random"], id="unknown-policy"),
        pytest.param(["--bind-timeout", "soon"], id="not-a-duration"),
        pytest.param(["--kubeconfig", "/does/not/exist"], id="no-kubeconfig"),
    ],
)
def test_bad_usage_ends_with_code_2(flags: list[str]) -> None:
    command = [plimsoll(), "scheduler", *flags]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2, ended.stderr
