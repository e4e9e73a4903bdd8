"""SIGSTOP for longer than a lease: another controller takes over, and the first writes no more.

Real processes. The leader is stopped in the middle of making pods and let go when its successor has
made the rest of them. When it wakes it hears of sets that were created meanwhile before it hears of
their pods: what it then wants to write must not arrive.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.servers import EmbeddedServer

PLIMSOLL = Path(sys.executable).with_name("plimsoll")
PODS = "/api/v1/namespaces/default/pods"
SETS, REPLICAS = 4, 12
LONGEST = 120.0


def replica_set(name: str) -> dict[str, Any]:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "web"}]},
            },
        },
    }


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path) as server:
        yield server


class ControllerProcess:
    def __init__(self, server: EmbeddedServer, directory: Path) -> None:
        directory.mkdir()
        self.log = directory / "log"
        command = ["controller", "--kubeconfig", str(server.endpoint.kubeconfig)]
        command += ["--metrics-port", "0", "--data-dir", str(directory), "--log-format", "json"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen([PLIMSOLL, *command], stdout=log, stderr=log)

    @property
    def said(self) -> str:
        return self.log.read_text()


@contextmanager
def a_controller(server: EmbeddedServer, directory: Path) -> Iterator[ControllerProcess]:
    controller = ControllerProcess(server, directory)
    try:
        yield controller
    finally:
        controller.process.kill()
        controller.process.wait()


def until(is_so: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + LONGEST
    while not is_so():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)


def pods(server: EmbeddedServer) -> set[str]:
    """Their uids."""
    code, answer = server.endpoint.request("GET", PODS)
    assert code == 200, answer
    return {item["metadata"]["uid"] for item in answer["items"]}


def create_sets(server: EmbeddedServer, name: str) -> None:
    for number in range(SETS):
        path = "/apis/apps/v1/namespaces/default/replicasets"
        code, answer = server.endpoint.request("POST", path, replica_set(f"{name}-{number}"))
        assert code == 201, answer


def test_a_controller_that_was_stopped_beyond_its_lease_makes_no_pod_too_many(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    wanted = 2 * SETS * REPLICAS
    with a_controller(server, tmp_path / "old") as old:
        until(lambda: "loops starting" in old.said, "the first controller leads")
        with a_controller(server, tmp_path / "new") as new:
            create_sets(server, "begun")
            until(lambda: len(pods(server)) > SETS, "it makes pods")
            old.process.send_signal(signal.SIGSTOP)
            create_sets(server, "meanwhile")
            until(lambda: len(pods(server)) >= wanted, "the second controller makes the rest")
            before = pods(server)
            assert len(before) == wanted

            old.process.send_signal(signal.SIGCONT)
            old.process.wait(LONGEST)

            assert old.process.returncode == 1, "it has to be started again"
            assert "another copy may act now" in old.said
            assert pods(server) == before
            assert "leadership acquired" in new.said
