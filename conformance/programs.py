"""Programs beside an API server, for as long as a `with` block runs."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from conformance import peers
from tests.servers import STOP_SECONDS, free_port

READY_SECONDS = 60

OUR_LOOPS = (
    "binding",
    "claim-protection",
    "volume-protection",
    "statefulset",
    "ephemeral-volume",
    "garbage-collector",
)
THEIR_CONTROLLERS = (
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
    "statefulset-controller",
    "ephemeral-volume-controller",
    "garbage-collector-controller",
    "namespace-controller",
)
OUR_CLUSTER_LOOPS = ("replicaset", "disruption", "cronjob", "node-lifecycle", "taint-eviction")
"""Beside the others where no test needs nodes that stay ready without an agent."""
THEIR_CLUSTER_CONTROLLERS = (
    "replicaset-controller",
    "disruption-controller",
    "cronjob-controller",
    "node-lifecycle-controller",
    "taint-eviction-controller",
)
ATTACHING = "persistentvolume-attach-detach-controller"


class DiedError(RuntimeError):
    """A program did not come up; the message carries its last words."""


@contextlib.contextmanager
def our_controller(
    kubeconfig: Path, directory: Path, loops: tuple[str, ...] = OUR_LOOPS
) -> Iterator[None]:
    """The loops that both controllers have, on any server."""
    command = [
        str(Path(sys.executable).with_name("plimsoll")),
        "controller",
        f"--kubeconfig={kubeconfig}",
        f"--controllers={','.join(loops)}",
        f"--data-dir={directory}",
        "--metrics-port=0",
    ]
    log = directory / "plimsoll-controller.log"
    with running(command, log) as process:
        wait_for_line(process, log, "plimsoll controller ready")
        yield


@contextlib.contextmanager
def kube_controller_manager(
    kubeconfig: Path, directory: Path, controllers: tuple[str, ...] = THEIR_CONTROLLERS
) -> Iterator[None]:
    command = [
        str(peers.build(peers.KUBE_CONTROLLER_MANAGER)),
        f"--kubeconfig={kubeconfig}",
        f"--controllers={','.join(controllers)}",
        "--leader-elect=false",
        "--use-service-account-credentials=false",
        # The only provisioner inside it that needs no cloud.
        "--enable-hostpath-provisioner=true",
        "--bind-address=127.0.0.1",
        "--secure-port=0",
        "--kube-api-qps=2000",
        "--kube-api-burst=2000",
        "--v=2",
    ]
    log = directory / "kube-controller-manager.log"
    with running(command, log) as process:
        wait_for_line(process, log, "Proceeding to collect garbage")
        yield


@contextlib.contextmanager
def our_scheduler(
    kubeconfig: Path, directory: Path, policy: str = "compatible", *, records: str = ""
) -> Iterator[None]:
    """For pods that name `plimsoll`, by kube-scheduler's rules unless told otherwise. `records` is
    the namespace of provisioners that hold volumes back."""
    command = [
        str(Path(sys.executable).with_name("plimsoll")),
        "scheduler",
        f"--kubeconfig={kubeconfig}",
        f"--policy={policy}",
        f"--record-namespaces={records}",
        "--metrics-port=0",
    ]
    log = directory / "plimsoll-scheduler.log"
    with running(command, log) as process:
        wait_for_line(process, log, "plimsoll scheduler ready")
        yield


@contextlib.contextmanager
def kube_scheduler(
    kubeconfig: Path, directory: Path, name: str = "default-scheduler"
) -> Iterator[None]:
    """For pods that name this scheduler; without a name, for those that name none."""
    configuration = directory / "kube-scheduler.yaml"
    configuration.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "leaderElection: {leaderElect: false}\n"
        f"profiles: [{{schedulerName: {name}}}]\n"
        f"clientConnection: {{kubeconfig: {kubeconfig}, qps: 2000, burst: 2000}}\n"
    )
    command = [
        str(peers.build(peers.KUBE_SCHEDULER)),
        f"--config={configuration}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--authentication-skip-lookup=true",
        "--bind-address=127.0.0.1",
        f"--secure-port={free_port()}",
        # On by default in the release that our rules were recorded from.
        "--feature-gates=StorageCapacityScoring=true,VolumeLimitScaling=true",
        "--v=2",
    ]
    log = directory / "kube-scheduler.log"
    with running(command, log) as process:
        wait_for_line(process, log, "Starting Kubernetes Scheduler")
        yield


@contextlib.contextmanager
def running(
    command: list[str], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """With our environment, unless told otherwise; what it says goes into the log."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for_line(process: subprocess.Popen[bytes], log: Path, line: str) -> None:
    began = time.monotonic()
    while line not in log.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() - began > READY_SECONDS:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise DiedError(f"exit code {process.poll()}: {tail}")
        time.sleep(0.05)
