"""The sidecars of CSI beside a driver: the originals, and what we have in their place.

The snapshot-controller runs with csi-snapshotter, as it does once in every cluster. Settings are
those of common deployments, except that pauses are short and that no leader is elected.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import yaml

from conformance import peers
from conformance.csi_drivers import Driver
from conformance.programs import running, wait_for_line
from tests.servers import endpoint_in, plimsoll

Sidecar = Callable[[Path, Driver], AbstractContextManager[None]]
"""Takes the cluster and the driver that it works for."""
NAMESPACE = "default"
"""Where csi-provisioner publishes capacity."""
QUICK = ("--retry-interval-start=200ms", "--retry-interval-max=2s", "--v=5")
UNHURRIED_BY_CLIENT = ("--kube-api-qps=200", "--kube-api-burst=200")


@contextlib.contextmanager
def csi_provisioner(kubeconfig: Path, driver: Driver) -> Iterator[None]:
    """Provisions, clones, restores, deletes and publishes capacity without an owner."""
    command = [str(peers.build(peers.CSI_PROVISIONER)), *_provisioning(kubeconfig, driver)]
    with running(command, driver.directory / "csi-provisioner.log", _environment()):
        yield


@contextlib.contextmanager
def csi_provisioner_with_strict_topology(kubeconfig: Path, driver: Driver) -> Iterator[None]:
    """Asks for the selected node's segment alone, and publishes no capacity."""
    command = [
        str(peers.build(peers.CSI_PROVISIONER)),
        f"--kubeconfig={kubeconfig}",
        f"--csi-address={driver.socket}",
        "--strict-topology",
        *UNHURRIED_BY_CLIENT,
        *QUICK,
    ]
    with running(command, driver.directory / "csi-provisioner.log", _environment()):
        yield


@contextlib.contextmanager
def our_provisioner_with_strict_topology(kubeconfig: Path, driver: Driver) -> Iterator[None]:
    """In its place, told the same."""
    command = [
        plimsoll(),
        "provisioner",
        f"--kubeconfig={kubeconfig}",
        f"--csi-address={driver.socket}",
        "--strict-topology",
        *UNHURRIED_BY_CLIENT,
        *QUICK,
    ]
    with running(command, driver.directory / "plimsoll-provisioner.log", _environment()):
        yield


@contextlib.contextmanager
def our_provisioner(kubeconfig: Path, driver: Driver) -> Iterator[None]:
    """In csi-provisioner's place, told the same."""
    command = [plimsoll(), "provisioner", *_provisioning(kubeconfig, driver)]
    with running(command, driver.directory / "plimsoll-provisioner.log", _environment()):
        yield


@contextlib.contextmanager
def our_provisioner_of_a_node(kubeconfig: Path, driver: Driver) -> Iterator[None]:
    """As common on nodes with disks of their own: each node has a driver and a provisioner."""
    command = [
        plimsoll(),
        "provisioner",
        *_provisioning(kubeconfig, driver),
        "--node-deployment",
        "--node-deployment-base-delay=500ms",
        "--strict-topology",
        "--immediate-topology=false",
    ]
    environment = _environment() | {"NODE_NAME": driver.node}
    with running(command, driver.directory / "plimsoll-provisioner.log", environment):
        yield


def _provisioning(kubeconfig: Path, driver: Driver) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}",
        f"--csi-address={driver.socket}",
        "--enable-capacity",
        "--capacity-ownerref-level=-1",
        "--capacity-poll-interval=2s",
        "--kube-api-capacity-qps=50",
        "--extra-create-metadata",
        "--default-fstype=ext4",
        *UNHURRIED_BY_CLIENT,
        *QUICK,
    ]


@contextlib.contextmanager
def csi_resizer(kubeconfig: Path, driver: Driver) -> Iterator[None]:
    command = [
        str(peers.build(peers.CSI_RESIZER)),
        f"--kubeconfig={kubeconfig}",
        f"--csi-address={driver.socket}",
        *UNHURRIED_BY_CLIENT,
        *QUICK,
    ]
    with running(command, driver.directory / "csi-resizer.log", _environment()):
        yield


@contextlib.contextmanager
def csi_snapshotter(kubeconfig: Path, driver: Driver) -> Iterator[None]:
    """Both halves: the one beside the driver, and the one of the cluster."""
    beside = [
        str(peers.build(peers.CSI_SNAPSHOTTER)),
        f"--kubeconfig={kubeconfig}",
        f"--csi-address={driver.socket}",
        *UNHURRIED_BY_CLIENT,
        *QUICK,
    ]
    once = [
        str(peers.build(peers.SNAPSHOT_CONTROLLER)),
        f"--kubeconfig={kubeconfig}",
        *UNHURRIED_BY_CLIENT,
        *QUICK,
    ]
    directory = driver.directory
    with (
        running(once, directory / "snapshot-controller.log", _environment()),
        running(beside, directory / "csi-snapshotter.log", _environment()),
    ):
        yield


@contextlib.contextmanager
def our_csi_loops(kubeconfig: Path, driver: Driver) -> Iterator[None]:
    """Our controller where csi-attacher, csi-resizer and both snapshotters would be."""
    command = [
        plimsoll(),
        "controller",
        f"--kubeconfig={kubeconfig}",
        "--controllers=csi-attacher,resizer,snapshotter",
        f"--csi-address={driver.socket}",
        "--no-leader-elect",
        "--metrics-port=0",
    ]
    log = driver.directory / "plimsoll-csi-loops.log"
    with running(command, log) as process:
        wait_for_line(process, log, "plimsoll controller ready")
        yield


def _environment() -> dict[str, str]:
    """Sidecars prefer $KUBECONFIG to the flag, and tell their namespace by a variable."""
    inherited = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    return inherited | {"NAMESPACE": NAMESPACE}


@contextlib.contextmanager
def last_words(driver: Driver) -> Iterator[None]:
    """Adds to a failure what the driver and its sidecars said last."""
    try:
        yield
    except AssertionError as error:
        tails = [
            f"{log.name}:\n" + "\n".join(log.read_text(errors="replace").splitlines()[-12:])
            for log in sorted(driver.directory.glob("*.log"))
        ]
        raise AssertionError("\n".join([str(error), *tails])) from error


def install_snapshot_kinds(kubeconfig: Path) -> None:
    """Make a server serve VolumeSnapshots that does not yet, by the definitions of the peer."""
    endpoint = endpoint_in(kubeconfig)
    if endpoint.request("GET", "/apis/snapshot.storage.k8s.io/v1")[0] == 200:
        return
    module = peers.directory_of(peers.SNAPSHOT_KINDS, peers.CSI_SNAPSHOTTER)
    for path in sorted((module / "config" / "crd").glob("snapshot.storage.k8s.io_*.yaml")):
        definition = yaml.safe_load(path.read_text())
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        status, answer = endpoint.request("POST", definitions, definition)
        assert status in {201, 409}, f"{path.name}: {answer}"
