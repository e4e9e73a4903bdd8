"""A whole cluster of real processes on loopback whose volumes are in the zones of a Ceph cluster.

There is one node in each zone, with a driver of its own, and one provisioner and controller, beside
the driver of one zone. Everything is below the directory of the Ceph cluster, whose guardian clears
away what a test leaves.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from conformance.every_step.kept_processes import KeptProcess
from conformance.every_step.waiting import until
from conformance.kills.client import EnduringClient, connected

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.wire.kind import typed
from tests.ceph.cluster_settings import DRIVER_USER
from tests.ceph.loopback_cluster import JOURNAL, POOLS, LoopbackCluster
from tests.ceph.rbd_drivers import CLASS
from tests.servers import free_port, is_ready

DRIVER = "ceph.plimsoll.dev"
CLASS_NAME = "zonal"
ZONE_LABEL = f"topology.{DRIVER}/zone"
ZONES = tuple(POOLS)
FIRST = ZONES[0]
SERVER, CONTROLLER, SCHEDULER, PROVISIONER = "apiserver", "controller", "scheduler", "provisioner"
RECORDS = "kube-system"
IDENTITY = "the-only-one"
LAST_LINES = 25
START_SECONDS = 120


def driver_of(zone: str) -> str:
    return f"driver-{zone}"


def node_of(zone: str) -> str:
    return f"node-{zone}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonalSettings:
    parameters: Mapping[str, str] = field(default_factory=lambda: CLASS)
    """Of the class."""
    backend: str = "rbd"
    user: str = DRIVER_USER
    options: Mapping[str, str] = field(default_factory=lambda: {"pool": JOURNAL})
    """Of the backend, beyond those that say how it connects."""
    beside: str = FIRST
    """The zone whose driver the provisioner and the controller ask."""
    controller_flags: tuple[str, ...] = ()


DEFAULT_SETTINGS = ZonalSettings()


@dataclass(slots=True)
class ZonalCluster:
    ceph: LoopbackCluster
    directory: Path
    client: EnduringClient
    settings: ZonalSettings
    processes: dict[str, KeptProcess] = field(default_factory=dict)

    def node_dir(self, zone: str) -> Path:
        return self.directory / node_of(zone)

    def socket(self, zone: str) -> Path:
        return self.directory / f"{zone}.sock"

    def mount(self, zone: str, pod_uid: str, volume: str) -> Path:
        """Where a container of the pod would see the volume."""
        volumes = self.node_dir(zone) / "pods" / pod_uid / "volumes" / "kubernetes.io~csi"
        return volumes / volume / "mount"

    def kill_all(self) -> None:
        """With SIGKILL; each is started again at once."""
        for process in self.processes.values():
            process.kill()

    def said(self) -> str:
        """The last lines of each process."""
        tails = []
        for name in self.processes:
            lines = (self.directory / f"{name}.log").read_text(errors="replace").splitlines()
            tails.append("\n".join([f"--- {name}", *lines[-LAST_LINES:]]))
        return "\n".join(tails)


@contextlib.asynccontextmanager
async def zonal_cluster(
    ceph: LoopbackCluster, settings: ZonalSettings = DEFAULT_SETTINGS
) -> AsyncIterator[ZonalCluster]:
    """With a class for volumes in zones, and all nodes known to the scheduler."""
    directory = Path(tempfile.mkdtemp(dir=ceph.directory, prefix="story-"))
    async with AsyncExitStack() as stack:
        port = free_port()
        server = KeptProcess(SERVER, _server(directory, port), directory / f"{SERVER}.log")
        stack.push_async_callback(server.stop)
        await server.start()
        kubeconfig = directory / "kubeconfig"
        is_up = partial(asyncio.to_thread, _is_up, kubeconfig, port)
        await until("the API server answers", is_up)
        client = await stack.enter_async_context(connected(kubeconfig))
        made = ZonalCluster(ceph, directory, client, settings, {SERVER: server})
        for name, arguments in _arguments(made).items():
            log = directory / f"{name}.log"
            process = KeptProcess(name, arguments, log, {"NAMESPACE": RECORDS})
            made.processes[name] = process
            stack.push_async_callback(process.stop)
            await process.start()
        await client.create(_driver_object())
        await client.create(_class_object(settings))
        async with asyncio.timeout(START_SECONDS):
            await _until_known(made)
        yield made


def _server(directory: Path, port: int) -> tuple[str, ...]:
    where = f"--data-dir={directory / 'api'}", f"--port={port}"
    return (SERVER, *where, f"--write-kubeconfig={directory / 'kubeconfig'}", "--log-level=warning")


def _is_up(kubeconfig: Path, port: int) -> bool:
    return kubeconfig.exists() and is_ready(port)


def _arguments(made: ZonalCluster) -> dict[str, tuple[str, ...]]:
    """Of each process but the API server, in the order in which they are started."""
    asked = f"--kubeconfig={made.directory / 'kubeconfig'}", "--metrics-port=0", "--log-level=info"
    elected = f"--leader-elect-identity={IDENTITY}"
    found = {driver_of(zone): _driver(made, zone) for zone in ZONES}
    for zone in ZONES:
        where = f"--node-name={node_of(zone)}", f"--data-dir={made.node_dir(zone)}"
        found[node_of(zone)] = ("node", *asked, *where)
    found[CONTROLLER] = (
        CONTROLLER,
        *asked,
        elected,
        f"--data-dir={made.directory / CONTROLLER}",
        f"--csi-address={made.socket(made.settings.beside)}",
        *made.settings.controller_flags,
    )
    found[SCHEDULER] = (SCHEDULER, *asked, elected, "--scheduler-name=default-scheduler")
    found[PROVISIONER] = _provisioner(made)
    return found


def _driver(made: ZonalCluster, zone: str) -> tuple[str, ...]:
    key = made.directory / "ceph.key"
    key.write_text(made.ceph.key_of(made.settings.user))
    options = {
        "monitors": made.ceph.monitor,
        "user": made.settings.user,
        "keyFile": str(key),
        **made.settings.options,
    }
    return (
        "driver",
        f"--backend={made.settings.backend}",
        f"--driver-name={DRIVER}",
        f"--node-id={node_of(zone)}",
        f"--topology=zone={zone}",
        f"--data-dir={made.directory / driver_of(zone)}",
        f"--endpoint=unix://{made.socket(zone)}",
        f"--plugin-registration-dir={made.node_dir(zone) / 'plugins_registry'}",
        *(f"--backend-option={key}={value}" for key, value in options.items()),
    )


def _provisioner(made: ZonalCluster) -> tuple[str, ...]:
    return (
        PROVISIONER,
        f"--kubeconfig={made.directory / 'kubeconfig'}",
        f"--csi-address={made.socket(made.settings.beside)}",
        "--enable-capacity",
        "--capacity-ownerref-level=-1",
        "--capacity-poll-interval=5s",
        "--retry-interval-start=250ms",
        "--retry-interval-max=5s",
        "--log-level=info",
    )


def _driver_object() -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": DRIVER},
        "spec": {"attachRequired": False, "storageCapacity": True},
    }


def _class_object(settings: ZonalSettings) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": CLASS_NAME},
        "provisioner": DRIVER,
        "parameters": dict(settings.parameters),
        "volumeBindingMode": "WaitForFirstConsumer",
        "reclaimPolicy": "Delete",
        "allowVolumeExpansion": True,
    }


async def _until_known(made: ZonalCluster) -> None:
    """Each node is labelled with the zone that its driver tells of."""
    for zone in ZONES:
        key = ObjectKey("", node_of(zone))
        await made.client.until(typed(Node), key, lambda node: ZONE_LABEL in node.metadata.labels)
