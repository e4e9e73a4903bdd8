"""What runs in a local cluster, where its files are, and in which order it is started.

Every part is a `plimsoll` command with its arguments. In the separate form each of them is a
process; in the light form two processes read the same arguments and run the parts inside.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import yaml

from plimsoll.api.quantity import parse_bytes
from plimsoll.api.registry import Document
from plimsoll.decide.ceph.takeover.auto_takeover import AutoTakeoverMode
from plimsoll.decide.rollback.mode import ROLLBACK_AFTER, RollbackMode
from plimsoll.runtime.config import written_duration
from plimsoll.ui.local_cluster.access import identities
from plimsoll.ui.local_cluster.access.identities import PartIdentity
from plimsoll.ui.local_cluster.children import Child
from plimsoll.ui.local_cluster.kept_settings import write_if_changed
from plimsoll.ui.local_cluster.objects import LOCAL, NAMESPACE, POOLS

ZONES = ("a", "b", "c")
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
DISKS = ("disk1", "disk2")
LONGEST_SOCKET = 107
IDENTITY = "plimsoll-up"
"""Of the one controller and the one scheduler that the cluster runs: a copy that a user starts
beside them waits, and one that is started again does not have to wait for its own old lease."""

Stages = list[list[Child]]
"""Those of one stage start together, a stage when the one before is up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneOptions:
    """What the controller and the API server are told, at this start: it is not kept."""

    csi_addresses: tuple[str, ...] = ()
    """Sockets of drivers beside our own, for the controller."""
    repair: str = ""
    """Repair rules of the controller, separated by commas."""
    repair_dry_run: bool = False
    rollback: RollbackMode = RollbackMode.OFF
    rollback_after: timedelta = ROLLBACK_AFTER
    takeover: str = ""
    """The driver whose lost zones others take over; empty: none."""
    auto_takeover: AutoTakeoverMode = AutoTakeoverMode.OFF
    encryption_key_file: str = ""
    """Of the API server; empty: secrets are kept as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """What the user asked for."""

    data_dir: Path
    port: int = 0
    nodes: int = 3
    hollow: bool = False
    """Nodes that mount nothing, all in the machine process."""
    disk_size: str = "10Gi"
    memory: str = "1Gi"
    pool_size: str = "100Gi"
    log_level: str = "warning"
    control: ControlPlaneOptions = ControlPlaneOptions()

    @property
    def kubeconfig(self) -> Path:
        """The administrator's, for the user."""
        return self.data_dir / "kubeconfig"

    @property
    def url(self) -> str:
        """Of the API server."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def identities(self) -> tuple[PartIdentity, ...]:
        """Of all parts that ask the API server; drivers do not. Those of the machine come last."""
        real = tuple(identities.node(name) for name in self.names)
        return (
            identities.SCHEDULER,
            identities.CONTROLLER,
            *(identities.provisioner(driver) for driver in (LOCAL, POOLS)),
            *((identities.HOLLOW,) if self.hollow else real),
        )

    @property
    def authority(self) -> Path:
        """Whose certificate the API server shows."""
        return self.data_dir / "apiserver" / "pki" / "ca.crt"

    @property
    def names(self) -> tuple[str, ...]:
        prefix = "hollow-" if self.hollow else "node-"
        return tuple(f"{prefix}{number}" for number in range(self.nodes))

    @property
    def summary(self) -> str:
        """How many nodes there are, of what kind, and in how many zones."""
        nodes = "1 node" if self.nodes == 1 else f"{self.nodes} nodes"
        if self.hollow:
            nodes = f"{nodes.replace(' ', ' hollow ')}, which mount nothing"
        return f"{nodes}, in {('one zone', 'two zones', 'three zones')[min(self.nodes, 3) - 1]}"

    def zone_of(self, node: str) -> str:
        return ZONES[self.names.index(node) % len(ZONES)]

    def socket(self, driver: str, node: str) -> str:
        """Short: the kernel allows no more than 107 bytes."""
        return f"unix://{self.data_dir / 'run' / driver.partition('.')[0]}-{node}.sock"

    def registration_dir(self, node: str) -> Path:
        return self.data_dir / "run" / node

    def complaint(self) -> str | None:
        """Why this cannot be: the kernel allows no more than 107 bytes for the path of a socket."""
        longest = self.registration_dir(self.names[-1]) / f"{LOCAL}-reg.sock"
        excess = len(os.fsencode(longest)) - LONGEST_SOCKET
        if excess <= 0:
            return None
        return f"--data-dir: {self.data_dir} is too long for sockets by {excess} bytes"


def light(wanted: ClusterOptions) -> Stages:
    """Two processes, which start at the same time and wait for each other where they have to."""
    return _logging(wanted, [[control_plane(wanted), machine(wanted)]])


def first_of_separate(wanted: ClusterOptions) -> Stages:
    """What the others need before anything else: the API server."""
    return _logging(wanted, [[api_server(wanted)]])


def separate(wanted: ClusterOptions) -> Stages:
    """Every part beside the API server as a process; each stage needs the one before."""
    both = [controller(wanted), scheduler(wanted)]
    if wanted.hollow:
        return _logging(wanted, [[*both, machine(wanted)], provisioners(wanted)])
    first = [*both, *drivers(wanted)]
    return _logging(wanted, [first, [*provisioners(wanted), *nodes(wanted)]])


def _logging(wanted: ClusterOptions, stages: Stages) -> Stages:
    level = ("--log-level", wanted.log_level)
    return [
        [replace(child, arguments=(*child.arguments, *level)) for child in stage]
        for stage in stages
    ]


def control_plane(wanted: ClusterOptions) -> Child:
    return Child(
        name="control-plane",
        arguments=(
            "control-plane",
            *("--data-dir", str(wanted.data_dir)),
            *("--nodes", str(wanted.nodes)),
            *_drivers(wanted.control.csi_addresses),
            *_asked_of_controller(wanted),
            *_encryption(wanted),
        ),
        authority=wanted.authority,
    )


def machine(wanted: ClusterOptions) -> Child:
    """The drivers and all nodes in one process."""
    place = ("--data-dir", str(wanted.data_dir), "--nodes", str(wanted.nodes))
    return Child(name="machine", arguments=("machine", *place))


def api_server(wanted: ClusterOptions) -> Child:
    return Child(
        name="apiserver",
        arguments=(
            "apiserver",
            *("--data-dir", str(wanted.data_dir / "apiserver")),
            *("--port", str(wanted.port)),
            *("--write-kubeconfig", str(wanted.kubeconfig)),
            *_encryption(wanted),
        ),
        authority=wanted.authority,
    )


def _encryption(wanted: ClusterOptions) -> tuple[str, ...]:
    file = wanted.control.encryption_key_file
    return ("--encryption-key-file", file) if file else ()


def _common(wanted: ClusterOptions, identity: PartIdentity) -> tuple[str, ...]:
    return ("--kubeconfig", str(identity.kubeconfig(wanted.data_dir)), "--metrics-port", "0")


def _drivers(addresses: Iterable[str]) -> tuple[str, ...]:
    return tuple(part for address in addresses for part in ("--csi-address", address))


def _asked_of_controller(wanted: ClusterOptions) -> tuple[str, ...]:
    rules = ("--repair", wanted.control.repair) if wanted.control.repair else ()
    dry_run = ("--repair-dry-run",) if wanted.control.repair_dry_run else ()
    return (*rules, *dry_run, *_rollback(wanted), *_takeover(wanted))


def _rollback(wanted: ClusterOptions) -> tuple[str, ...]:
    if wanted.control.rollback is RollbackMode.OFF:
        return ()
    after = written_duration(wanted.control.rollback_after)
    return ("--rollback", wanted.control.rollback.value, "--rollback-after", after)


def _takeover(wanted: ClusterOptions) -> tuple[str, ...]:
    driver = ("--takeover", wanted.control.takeover) if wanted.control.takeover else ()
    if wanted.control.auto_takeover is AutoTakeoverMode.OFF:
        return driver
    return (*driver, "--auto-takeover", wanted.control.auto_takeover.value)


def controller(wanted: ClusterOptions) -> Child:
    own = (wanted.socket(driver, wanted.names[0]) for driver in (LOCAL, POOLS))
    return Child(
        name="controller",
        arguments=(
            "controller",
            *_common(wanted, identities.CONTROLLER),
            *("--leader-elect-identity", IDENTITY),
            *("--data-dir", str(wanted.data_dir / "controller")),
            *_drivers((*own, *wanted.control.csi_addresses)),
            *_asked_of_controller(wanted),
        ),
    )


def scheduler(wanted: ClusterOptions) -> Child:
    return Child(
        name="scheduler",
        arguments=(
            "scheduler",
            *_common(wanted, identities.SCHEDULER),
            *("--leader-elect-identity", IDENTITY),
            *("--scheduler-name", "default-scheduler"),
            *("--record-namespaces", f"kube-system,{NAMESPACE}"),
        ),
    )


def drivers(wanted: ClusterOptions) -> list[Child]:
    return [
        Child(
            name=f"driver {driver}",
            arguments=(
                "driver",
                *("--settings", str(settings_file(wanted, driver))),
                *("--metrics-port", "0"),
            ),
        )
        for driver in (LOCAL, POOLS)
    ]


def provisioners(wanted: ClusterOptions) -> list[Child]:
    return [_provisioner(wanted, LOCAL, "--strict-topology"), _provisioner(wanted, POOLS)]


def _provisioner(wanted: ClusterOptions, driver: str, *more: str) -> Child:
    kubeconfig = str(identities.provisioner(driver).kubeconfig(wanted.data_dir))
    return Child(
        name=f"provisioner {driver}",
        arguments=(
            "provisioner",
            *("--kubeconfig", kubeconfig),
            *("--csi-address", wanted.socket(driver, wanted.names[0])),
            *("--http-endpoint", "127.0.0.1:0"),
            # No other client is on this server: no need to hold back.
            *("--kube-api-qps", "0", "--kube-api-capacity-qps", "0"),
            *("--enable-capacity", "--capacity-ownerref-level", "-1"),
            *("--retry-interval-start", "250ms"),
            *more,
        ),
        environment=(("NAMESPACE", NAMESPACE), ("KUBECONFIG", kubeconfig)),
    )


def nodes(wanted: ClusterOptions) -> list[Child]:
    """Real ones."""
    return [
        Child(
            name=f"node {name}",
            arguments=(
                "node",
                *_common(wanted, identities.node(name)),
                *("--node-name", name),
                *("--data-dir", str(wanted.data_dir / "nodes" / name)),
                *("--plugin-registration-dir", str(wanted.registration_dir(name))),
                *("--labels", f"{ZONE}={wanted.zone_of(name)},{REGION}=local"),
            ),
        )
        for name in wanted.names
    ]


def driver_dir(wanted: ClusterOptions, driver: str) -> Path:
    """Where the records of a driver are."""
    return wanted.data_dir / "drivers" / driver.partition(".")[0]


def settings_file(wanted: ClusterOptions, driver: str) -> Path:
    return driver_dir(wanted, driver).with_suffix(".yaml")


def write_settings(wanted: ClusterOptions) -> None:
    """The files that the drivers are started with."""
    for driver, settings in ((LOCAL, local_settings(wanted)), (POOLS, pools_settings(wanted))):
        path = settings_file(wanted, driver)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_if_changed(path, yaml.safe_dump(settings, sort_keys=False))


def local_settings(wanted: ClusterOptions) -> Document:
    """Disks of nodes; those of hollow nodes are as hollow, and only counted."""
    if wanted.hollow:
        return _settings(wanted, LOCAL, "pools") | {
            "options": {"pools": [_hollow_disks(wanted, name) for name in wanted.names]},
            "nodes": [_node_entry(wanted, LOCAL, name) for name in wanted.names],
        }
    return _settings(wanted, LOCAL, "local") | {
        "createDisk": True,
        "nodes": [
            _node_entry(wanted, LOCAL, name)
            | {"disks": _disks(wanted, name), "memory": wanted.memory}
            for name in wanted.names
        ],
    }


def _disks(wanted: ClusterOptions, node: str) -> list[str]:
    where = wanted.data_dir / "disks" / node
    return [f"{where / disk}={wanted.disk_size}" for disk in DISKS]


def _hollow_disks(wanted: ClusterOptions, node: str) -> Document:
    size = len(DISKS) * parse_bytes(wanted.disk_size)
    topology = {"zone": wanted.zone_of(node), "node": node}
    return {"name": node, "size": size, "topology": topology}


def pools_settings(wanted: ClusterOptions) -> Document:
    zones = [
        {
            "name": f"zone-{zone}",
            "size": wanted.pool_size,
            "kind": "zonal",
            "topology": {"zone": zone},
            "copies": [{"zone": zone}, {"zone": zone}, {"zone": other}],
            "minCopies": 1,
        }
        for zone, other in zip(ZONES, (*ZONES[1:], ZONES[0]), strict=True)
    ]
    region = {
        "name": "region",
        "size": wanted.pool_size,
        "kind": "regional",
        "topology": [{"zone": zone} for zone in ZONES],
        "copies": [{"zone": zone} for zone in ZONES],
    }
    return _settings(wanted, POOLS, "pools") | {
        "options": {"pools": [*zones, region]},
        "nodes": [_node_entry(wanted, POOLS, name) for name in wanted.names],
    }


def _settings(wanted: ClusterOptions, driver: str, backend: str) -> Document:
    found: Document = {
        "backend": backend,
        "driverName": driver,
        "dataDir": str(driver_dir(wanted, driver)),
    }
    return found | ({"mounts": "none"} if wanted.hollow else {})


def _node_entry(wanted: ClusterOptions, driver: str, name: str) -> Document:
    topology = {"zone": wanted.zone_of(name)}
    if driver == LOCAL and wanted.hollow:
        topology["node"] = name
    entry: Document = {"id": name, "topology": topology}
    if not wanted.hollow:
        entry["pluginRegistrationDir"] = str(wanted.registration_dir(name))
    # Of hollow nodes only one needs a socket, for those who work with the driver as a whole.
    if not wanted.hollow or name == wanted.names[0]:
        entry["endpoint"] = wanted.socket(driver, name)
    return entry
