"""Controllers as programs of their own, and what tests of their leadership do with them."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.servers import EmbeddedServer

PLIMSOLL = Path(sys.executable).with_name("plimsoll")
PODS = "/api/v1/namespaces/default/pods"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
LONGEST = 120.0


class ControllerProcess:
    def __init__(self, kubeconfig: Path, directory: Path) -> None:
        directory.mkdir()
        self.log = directory / "log"
        command = ["controller", "--kubeconfig", str(kubeconfig)]
        command += ["--metrics-port", "0", "--data-dir", str(directory), "--log-format", "json"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen([PLIMSOLL, *command], stdout=log, stderr=log)

    @property
    def said(self) -> str:
        return self.log.read_text()


@contextmanager
def a_controller(kubeconfig: Path, directory: Path) -> Iterator[ControllerProcess]:
    controller = ControllerProcess(kubeconfig, directory)
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


def create_set(server: EmbeddedServer, name: str, replicas: int) -> None:
    labels = {"app": name}
    document = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "web"}]},
            },
        },
    }
    code, answer = server.endpoint.request("POST", SETS, document)
    assert code == 201, answer
