"""The official Python client on a cluster of ours, as `python_client.py` uses it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from conformance import python_peers
from conformance.clients.cluster import ClientCluster, client_cluster

Say = Callable[[str], None]
STORIES = Path(__file__).with_name("python_client.py")


def run(say: Say) -> None:
    """Raises AssertionError when a story does not end as it should."""
    say(f"kubernetes {python_peers.version('kubernetes')}")
    python = python_peers.directory() / "bin" / "python"
    with client_cluster() as cluster:
        _play(python, cluster, say)


def _play(python: Path, cluster: ClientCluster, say: Say) -> None:
    command = [str(python), str(STORIES), str(cluster.endpoint.kubeconfig)]
    log = cluster.directory / "python-client.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            say(line.strip())
    said = "\n".join(log.read_text(errors="replace").splitlines()[-12:])
    assert process.returncode == 0, f"exit code {process.returncode}: {said}"
