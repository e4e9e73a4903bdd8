"""A whole cluster of ours for clients that want pods to run: `plimsoll up`, as users start it."""

import contextlib
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.programs import running, wait_for_line
from plimsoll.api.registry import Document
from tests.servers import Endpoint, endpoint_in, plimsoll

TIME_LIMIT_SECONDS = 60
COMMAND_SECONDS = 120
PAUSE_SECONDS = 0.1
MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class ClientCluster:
    """What a check sees of the cluster beside the client that it is about."""

    endpoint: Endpoint
    directory: Path
    """For what the client leaves behind: logs, caches."""

    def create(self, path: str, body: Document) -> Document:
        return self._done("POST", path, body)

    def patch(self, path: str, body: Document) -> Document:
        return self._done("PATCH", path, body)

    def delete(self, path: str) -> None:
        self._done("DELETE", path)

    def find(self, path: str) -> Document | None:
        """The object at this path; None if there is none."""
        status, answer = self.endpoint.request("GET", path)
        assert status in {200, 404}, f"{path}: {status} {answer}"
        return answer if status == 200 else None

    def wait(self, what: str, path: str, suits: Callable[[Document], object]) -> Document:
        """The object, once it suits; what it was last is in the failure."""
        deadline = time.monotonic() + TIME_LIMIT_SECONDS
        while not ((found := self.find(path)) and suits(found)):
            assert time.monotonic() < deadline, f"not seen in time: {what}: {found}"
            time.sleep(PAUSE_SECONDS)
        return found

    def wait_gone(self, path: str) -> None:
        deadline = time.monotonic() + TIME_LIMIT_SECONDS
        while (found := self.find(path)) is not None:
            assert time.monotonic() < deadline, f"still there: {found}"
            time.sleep(PAUSE_SECONDS)

    def _done(self, method: str, path: str, body: Document | None = None) -> Document:
        with contextlib.closing(self.endpoint.connect()) as connection:
            headers = self.endpoint.headers()
            if method == "PATCH":
                headers["Content-Type"] = MERGE
            connection.request(method, path, body=json.dumps(body), headers=headers)
            response = connection.getresponse()
            answer: Document = json.loads(response.read())
        assert response.status in {200, 201, 202}, f"{method} {path}: {answer}"
        return answer


@contextlib.contextmanager
def client_cluster() -> Iterator[ClientCluster]:
    """Two nodes that mount nothing, so that no rights on the machine are needed."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-clients-") as name:
        directory = Path(name)
        data, log = directory / "cluster", directory / "up.log"
        command = [plimsoll(), "up", f"--data-dir={data}", "--nodes=2", "--hollow"]
        with running(command, log) as process:
            wait_for_line(process, log, "plimsoll is up")
            yield ClientCluster(endpoint_in(data / "kubeconfig"), directory)


def finished(
    command: list[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """A command that has to succeed; what it said is in the failure."""
    ended = subprocess.run(
        command,
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    said = f"{ended.stdout}\n{ended.stderr}".strip()
    assert ended.returncode == 0, f"{' '.join(command)}: exit code {ended.returncode}: {said}"
    return ended


def condition(found: Document, type_: str) -> str:
    """The status of one of an object's conditions; empty if it has none of the type."""
    conditions: list[dict[str, Any]] = found.get("status", {}).get("conditions", [])
    return next((each["status"] for each in conditions if each["type"] == type_), "")
