"""`plimsoll provisioner` takes csi-provisioner's flags, and is a process like it."""

import contextlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from plimsoll.processes.provisioner.settings import ProvisionerFlags, load
from plimsoll.runtime.config import written_duration
from plimsoll.ui.cli.main import cli
from tests.servers import EmbeddedServer, Endpoint, free_port

PLIMSOLL = Path(sys.executable).with_name("plimsoll")
WAIT_SECONDS = 60

DEFAULTS: dict[str, Any] = {
    "csi-address": "/run/csi/socket",
    "kubeconfig": "",
    "master": "",
    "volume-name-prefix": "pvc",
    "volume-name-uuid-length": -1,
    "timeout": "10s",
    "retry-interval-start": "1s",
    "retry-interval-max": "5m",
    "worker-threads": 100,
    "cloning-protection-threads": 1,
    "snapshot-orphan-sweep-interval": "5m",
    "capacity-threads": 1,
    "strict-topology": False,
    "immediate-topology": True,
    "extra-create-metadata": False,
    "default-fstype": "",
    "controller-publish-readonly": False,
    "prevent-volume-mode-conversion": True,
    "enable-capacity": False,
    "capacity-poll-interval": "1m",
    "capacity-ownerref-level": 1,
    "capacity-for-immediate-binding": False,
    "kube-api-qps": 5,
    "kube-api-burst": 10,
    "kube-api-capacity-qps": 1,
    "kube-api-capacity-burst": 5,
    "node-deployment": False,
    "node-deployment-immediate-binding": True,
    "node-deployment-base-delay": "20s",
    "node-deployment-max-delay": "1m",
    "leader-election": False,
    "leader-election-namespace": "",
    "leader-election-lease-duration": "15s",
    "leader-election-renew-deadline": "10s",
    "leader-election-retry-period": "5s",
    "leader-election-labels": {},
    "http-endpoint": "",
    "metrics-address": "",
    "metrics-path": "/metrics",
    "feature-gates": {},
}
"""csi-provisioner's."""


def test_defaults_are_csi_provisioners() -> None:
    settings = ProvisionerFlags()
    for flag, expected in DEFAULTS.items():
        found = getattr(settings, flag.replace("-", "_"))
        shown = (
            written_duration(found)
            if isinstance(expected, str) and not isinstance(found, str)
            else found
        )
        assert shown == expected, flag


def test_every_flag_is_in_the_help() -> None:
    shown = CliRunner().invoke(cli, ["provisioner", "--help"]).output
    housekeeping = ("v", "version", "logging-format", "vmodule", "automaxprocs", "enable-pprof")
    for flag in (*DEFAULTS, *housekeeping):
        assert re.search(rf"--{flag}\b", shown), flag


@pytest.mark.parametrize(
    ("arguments", "environment", "complaint"),
    [
        (["--worker-threads=many"], {}, "not a valid integer"),
        (["--worker-threads=0"], {}, "--worker-threads: must be at least 1"),
        (["--timeout=soon"], {}, "not a duration"),
        (["--capacity-poll-interval=0"], {}, "must be longer than nothing"),
        (["--feature-gates=Magic=true"], {}, "--feature-gates: unknown Magic"),
        (["--feature-gates=Topology=perhaps"], {}, "neither true nor false"),
        (["--volume-name-prefix="], {}, "--volume-name-prefix"),
        (["--volume-name-uuid-length", "33"], {}, "at most 32"),
        (["--http-endpoint=:80", "--metrics-address=:81"], {}, "only one of them"),
        (["--http-endpoint=80"], {}, "not of the form"),
        (["--node-deployment"], {}, "NODE_NAME"),
        (["--node-deployment", "--leader-election"], {"NODE_NAME": "n"}, "makes no sense"),
        (["--enable-capacity"], {"POD_NAME": "p"}, "NAMESPACE must be set"),
        (["--enable-capacity"], {"NAMESPACE": "n"}, "POD_NAME must be set"),
        (["--leader-election-labels=a=b"], {}, "not of the form key:value"),
        (["--csi-address=relative"], {}, "--csi-address"),
        (["--colour=red"], {}, "No such option"),
    ],
)
def test_bad_usage_ends_with_2_and_says_what_is_wrong(
    arguments: list[str], environment: dict[str, str], complaint: str
) -> None:
    cleared = dict.fromkeys(("NAMESPACE", "POD_NAME", "NODE_NAME", "KUBECONFIG"), "")
    outcome = CliRunner().invoke(cli, ["provisioner", *arguments], env=cleared | environment)
    assert outcome.exit_code == 2, outcome.output
    assert complaint in outcome.output


def test_the_version_is_printed() -> None:
    outcome = CliRunner().invoke(cli, ["provisioner", "-version"])
    assert outcome.exit_code == 0
    assert outcome.output.startswith("plimsoll provisioner ")


def test_the_environment_wins_over_the_flag_for_the_kubeconfig() -> None:
    assert load({"KUBECONFIG": "/a"}, {"kubeconfig": "/b"}).kubeconfig == "/a"
    assert load({}, {"kubeconfig": "/b"}).kubeconfig == "/b"


def test_candidates_meet_in_the_namespace_of_the_pod() -> None:
    assert load({"POD_NAMESPACE": "a"}, {}).leader_election_namespace == "a"
    flag = {"leader_election_namespace": "b"}
    assert load({"POD_NAMESPACE": "a"}, flag).leader_election_namespace == "b"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with EmbeddedServer(tmp_path_factory.mktemp("server")) as server:
        yield server.endpoint


@pytest.fixture
def kubeconfig(server: Endpoint) -> Path:
    return server.kubeconfig


class Program:
    """A process of ours, and what it printed."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        # By way of env(1): what else is there stays.
        given = [f"{name}={value}" for name, value in environment.items()]
        self._process = subprocess.Popen(
            ["/usr/bin/env", "-u", "KUBECONFIG", *given, PLIMSOLL, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ready(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> tuple[int, str]:
        """By SIGTERM, unless it has ended already."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        _, errors = self._process.communicate(timeout=WAIT_SECONDS)
        return self._process.returncode, errors


@pytest.fixture
def programs() -> Iterator[list[Program]]:
    running: list[Program] = []
    yield running
    for program in running:
        program.kill()
        program.ended()


def start_driver(programs: list[Program], home: Path) -> Path:
    socket = home / "csi.sock"
    pools = home / "pools.yaml"
    pools.write_text("pools: [{name: only, size: 1Gi, topology: {zone: a}}]\n")
    options = {"backend": "pools", "pools": pools, "data-dir": home / "data", "mounts": "linked"}
    arguments = [text for key, value in options.items() for text in (f"--{key}", str(value))]
    driver = Program(
        "driver",
        *arguments,
        "--endpoint",
        f"unix://{socket}",
        "--node-id",
        "here",
        "--topology",
        "zone=a",
    )
    programs.append(driver)
    assert "ready" in driver.ready()
    return socket


def metrics(port: int) -> str:
    for _ in range(WAIT_SECONDS * 10):
        with contextlib.suppress(OSError):
            connection = HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()
        time.sleep(0.1)
    raise AssertionError("no server answers")


def test_it_serves_a_driver_until_sigterm(
    kubeconfig: Path, tmp_path: Path, programs: list[Program]
) -> None:
    socket, port = start_driver(programs, tmp_path), free_port()
    provisioner = Program(
        "provisioner",
        f"-csi-address={socket}",
        f"--kubeconfig={kubeconfig}",
        f"--http-endpoint=127.0.0.1:{port}",
        "--leader-election",
        "--leader-election-namespace=default",
        "-v=5",
    )
    programs.append(provisioner)
    where = f"metrics http://127.0.0.1:{port}/metrics"
    assert provisioner.ready() == f"plimsoll provisioner ready for pools.plimsoll.dev; {where}\n"
    shown = metrics(port)
    assert 'csi_sidecar_operations_seconds_count{driver_name="pools.plimsoll.dev"' in shown
    code, errors = provisioner.end()
    assert code == 0, errors


def test_it_ends_when_its_driver_does(
    kubeconfig: Path, tmp_path: Path, programs: list[Program]
) -> None:
    socket = start_driver(programs, tmp_path)
    provisioner = Program("provisioner", f"--csi-address={socket}", f"--kubeconfig={kubeconfig}")
    programs.append(provisioner)
    assert "ready" in provisioner.ready()
    programs[0].kill()
    code, errors = provisioner.ended()
    assert code == 1
    assert "the connection to the driver is lost" in errors


CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "pools.plimsoll.dev",
    "volumeBindingMode": "WaitForFirstConsumer",
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {
        "name": "data",
        "annotations": {
            "volume.kubernetes.io/storage-provisioner": "pools.plimsoll.dev",
            "volume.kubernetes.io/selected-node": "here",
        },
    },
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "256Mi"}},
        "storageClassName": "fast",
    },
}
CLASSES, CAPACITIES, VOLUMES, CLAIMS = (
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
    "/api/v1/persistentvolumes",
    "/api/v1/namespaces/default/persistentvolumeclaims",
)


def listed(server: Endpoint, path: str) -> list[dict[str, Any]]:
    code, answer = server.request("GET", path)
    assert code == 200
    found: list[dict[str, Any]] = answer["items"]
    return found


def eventually(condition: Callable[[], bool]) -> None:
    for _ in range(WAIT_SECONDS * 10):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it does not come true")


def test_on_a_node_volumes_are_made_and_room_is_published(
    server: Endpoint, tmp_path: Path, programs: list[Program]
) -> None:
    socket = start_driver(programs, tmp_path)
    provisioner = Program(
        "provisioner",
        f"--csi-address=unix://{socket}",
        f"--kubeconfig={server.kubeconfig}",
        "--node-deployment",
        "--enable-capacity=true",
        "--capacity-ownerref-level",
        "-1",
        "--kube-api-capacity-qps=50",
        NODE_NAME="here",
        NAMESPACE="default",
    )
    programs.append(provisioner)
    assert "ready" in provisioner.ready()
    for path, document in ((CLASSES, CLASS), (CLAIMS, CLAIM)):
        code, answer = server.request("POST", path, document)
        assert code == 201, answer

    def room() -> list[str]:
        return [each["capacity"] for each in listed(server, CAPACITIES)]

    eventually(lambda: len(listed(server, VOLUMES)) == 1)
    eventually(lambda: room() == ["768Mi"])
    [volume] = listed(server, VOLUMES)
    assert volume["spec"]["csi"]["driver"] == "pools.plimsoll.dev"
    released = volume | {"status": {"phase": "Released"}}
    name = volume["metadata"]["name"]
    code, answer = server.request("PUT", f"{VOLUMES}/{name}/status", released)
    assert code == 200, answer
    eventually(lambda: room() == ["1Gi"])
    code, errors = provisioner.end()
    assert code == 0, errors
