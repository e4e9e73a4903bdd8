"""A cluster of real processes on the embedded API server, for as long as a `with` block runs."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from conformance.programs import DiedError, running, wait_for_line

from bench.hostpath.workload import Load, Setting
from bench.target import Target
from plimsoll.api.registry import Document
from tests.servers import EmbeddedServer, free_port, plimsoll

DRIVER = "hostpath.plimsoll.dev"
NAMESPACE = "default"
"""Of pods, capacity objects, and the provisioner's records."""
WITHOUT_RECORDS = "kube-public"
LOOPS = ("binding", "claim-protection", "volume-protection", "attach-detach", "csi-attacher")
QUIET = ("--log-level", "warning")
PATIENT = ("--leader-elect-lease-duration", "120s", "--leader-elect-renew-deadline", "100s")
"""No copy waits to take over: on a machine that is busy with other work, none need end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostpathCluster:
    server: EmbeddedServer
    programs: dict[str, subprocess.Popen[bytes]]
    directory: Path
    provisioner_metrics: str
    """The address of its page."""

    @property
    def target(self) -> Target:
        """All processes, for what they cost."""
        pids = (self.server.pid, *(process.pid for process in self.programs.values()))
        return Target(name="plimsoll", endpoint=self.server.endpoint, pids=pids)

    def check_alive(self) -> None:
        """Raises DiedError."""
        for name, process in self.programs.items():
            if process.poll() is not None:
                words = _log(self.directory, name).read_text(errors="replace").splitlines()[-15:]
                raise DiedError(f"{name}: exit code {process.returncode}: " + "\n".join(words))


@contextlib.contextmanager
def started(load: Load, setting: Setting) -> Iterator[HostpathCluster]:
    """Everything but objects: the driver is not registered with the API until a client does so."""
    port = free_port()
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(_directory())
        server = EmbeddedServer(directory, *QUIET)
        stack.callback(server.stop)  # also where its start is interrupted
        server.start()
        settings = directory / "driver.yaml"
        settings.write_text(yaml.safe_dump(_driver_settings(load, directory)))
        commands = _commands(setting, server.kubeconfig, directory)
        commands["node"] += ["--hollow", str(load.nodes)]
        commands["node"] += ["--capacity", f"cpu=64,memory=256Gi,pods={load.pods + 10}"]
        commands["provisioner"] += ["--http-endpoint", f"127.0.0.1:{port}"]
        environment = dict(os.environ) | {"NAMESPACE": NAMESPACE}
        environment["KUBECONFIG"] = str(server.kubeconfig)
        programs = {}
        for name, command in commands.items():
            log = _log(directory, name)
            programs[name] = stack.enter_context(running(command, log, environment))
        for name, process in programs.items():
            wait_for_line(process, _log(directory, name), f"plimsoll {name} ready")
        yield HostpathCluster(
            server=server,
            programs=programs,
            directory=directory,
            provisioner_metrics=f"http://127.0.0.1:{port}/metrics",
        )


@contextlib.contextmanager
def _directory() -> Iterator[Path]:
    """Short: sockets are in it."""
    directory = Path(tempfile.mkdtemp(prefix="hp-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


def _log(directory: Path, name: str) -> Path:
    return directory / f"{name}.log"


def node_name(number: int) -> str:
    return f"node-{number}"


def _endpoint(directory: Path, node: str) -> str:
    return f"unix://{directory}/{node}.sock"


def _driver_settings(load: Load, directory: Path) -> Document:
    names = [node_name(number) for number in range(load.nodes)]
    pools = [{"name": name, "size": load.pool_bytes, "topology": {"host": name}} for name in names]
    nodes = [
        {"id": name, "endpoint": _endpoint(directory, name), "topology": {"host": name}}
        for name in names
    ]
    return {
        "backend": "pools",
        "driverName": DRIVER,
        "dataDir": str(directory / "driver"),
        "mounts": "none",
        "options": {"pools": pools},
        "nodes": nodes,
    }


def _commands(setting: Setting, kubeconfig: Path, directory: Path) -> dict[str, list[str]]:
    """By name; drivers before those that call them."""
    cluster = ["--kubeconfig", str(kubeconfig)]
    socket = _endpoint(directory, node_name(0))
    records = NAMESPACE if setting.has_groups else WITHOUT_RECORDS
    found = {
        "driver": ["--settings", str(directory / "driver.yaml")],
        "controller": [
            *cluster,
            *("--controllers", ",".join(LOOPS)),
            *("--csi-address", socket),
            *("--data-dir", str(directory / "controller")),
            *("--metrics-port", "0"),
            *PATIENT,
        ],
        "scheduler": [
            *cluster,
            *PATIENT,
            *("--scheduler-name", "default-scheduler"),
            *("--policy", setting.policy),
            *("--record-namespaces", records),
            *("--metrics-port", "0"),
        ],
        "node": [
            *cluster,
            *("--name-prefix", "node-"),
            *("--drivers", f"{DRIVER}={_endpoint(directory, '{node}')}"),
            *("--metrics-port", "0"),
        ],
        "provisioner": [
            *cluster,
            *("--csi-address", socket),
            # No other client is on this server: no need to hold back.
            *("--kube-api-qps", "0", "--kube-api-capacity-qps", "0"),
            *("--retry-interval-start", "250ms"),
            "--strict-topology",
            *(("--enable-capacity", "--capacity-ownerref-level", "-1") * setting.is_tracked),
        ],
    }
    return {name: [plimsoll(), name, *more, *QUIET] for name, more in found.items()}
