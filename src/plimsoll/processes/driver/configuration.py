"""From flags, environment and files to what a driver is told: everything that can be wrong is said.

One node is described by the settings themselves; several, each with a socket of its own, under
`nodes`.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from plimsoll.api.sizes import parse_size
from plimsoll.processes.driver.backends.registry import BACKENDS
from plimsoll.processes.driver.settings import (
    BackendSettings,
    Disk,
    Mounts,
    NodeSettings,
    topology_key,
)
from plimsoll.runtime import config
from plimsoll.runtime.config import ConfigError
from plimsoll.runtime.ids import hostname

PREFIX = "PLIMSOLL_DRIVER"
SOCKET = "csi.sock"
ON_NODES = frozenset({"local", "lvm"})
"""Backends whose volumes are on the node that made them."""

PREFIX_LENGTH = 63
"""Of topology keys: as long as CSI lets it be."""
NODE_ID_BYTES = 256
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LABEL_NAME = re.compile(r"(?:[a-z0-9.-]{1,63}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


class NodeEntry(config.Settings, frozen=True, kw_only=True):
    id: str
    endpoint: str = ""
    topology: dict[str, str] = msgspec.field(default_factory=dict)
    max_volumes: int = 0
    disks: tuple[str, ...] = ()
    memory: str = "0"
    plugin_registration_dir: str = ""


class DriverSettings(config.Settings, frozen=True, kw_only=True):
    """Defaults of `plimsoll driver`."""

    backend: str = "local"
    """What volumes are made of: local, lvm or pools."""
    endpoint: str = ""
    """The socket, unix:///…; empty: csi.sock in the data directory."""
    node_id: str = ""
    """Empty: the name of this machine."""
    data_dir: str = "plimsoll-data/driver"
    """Where the driver's records are, and volumes that are nowhere else."""
    driver_name: str = ""
    """Empty: the backend's, `local.plimsoll.dev` and so on."""
    disks: tuple[str, ...] = ()
    """Directories, disks or partitions for volumes, each with the size to be used: /srv/a=100Gi."""
    create_disk: bool = False
    """Make the directories of disks that do not exist; otherwise a missing one is refused."""
    memory: str = "0"
    """How much memory volumes of `medium: memory` may take in sum."""
    volume_group: str = ""
    """For lvm."""
    pools: str = ""
    """For pools: a file that describes them."""
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    """Whatever else the backend understands."""
    topology: dict[str, str] = msgspec.field(default_factory=dict)
    """Where this node is: zone: a. A name without a prefix gets the driver's."""
    domain_labels: tuple[str, ...] = ()
    """Labels of the Node object that tell where this node is, read once from the API."""
    kubeconfig: str = ""
    """For the labels. Empty: KUBECONFIG, ~/.kube/config, or the service account of our pod."""
    context: str = ""
    """Of the kubeconfig; empty: its current one."""
    max_volumes: int = 0
    """How many volumes a node can have at once; 0: no limit."""
    plugin_registration_dir: str = ""
    """Where kubelet, or plimsoll node, looks for drivers; empty: somebody else registers it."""
    nodes: tuple[NodeEntry, ...] = ()
    """For a driver that serves several nodes at once, instead of the settings of one."""
    mounts: Mounts | None = None
    """real, linked or none; not set: real for root, linked for others."""
    metrics_port: int | None = None
    """On 127.0.0.1, for /metrics, /healthz, /livez and /readyz; 0: a free one; not set: none."""


OF_ONE_NODE = (
    "endpoint",
    "node_id",
    "disks",
    "memory",
    "topology",
    "domain_labels",
    "plugin_registration_dir",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """All that is known before the API is asked and the backend is made."""

    backend: str
    driver_name: str
    data_dir: Path
    nodes: tuple[NodeSettings, ...]
    options: Mapping[str, Any]
    mounts: Mounts

    def backend_settings(self) -> BackendSettings:
        return BackendSettings(
            driver_name=self.driver_name,
            data_dir=self.data_dir,
            nodes=self.nodes,
            options=self.options,
            mounts=self.mounts,
        )


def configured(settings: DriverSettings) -> Configuration:
    """Raises ConfigError."""
    if settings.backend not in BACKENDS:
        raise ConfigError(f"--backend: {settings.backend}: known are {', '.join(BACKENDS)}")
    name = settings.driver_name or f"{settings.backend}.plimsoll.dev"
    if not NAME.fullmatch(name) or len(f"topology.{name}") > PREFIX_LENGTH:
        raise ConfigError(
            f"--driver-name: {name}: must be a domain name of at most"
            f" {PREFIX_LENGTH - len('topology.')} lower case letters, digits, '-' and '.'"
        )
    data_dir = Path(settings.data_dir).absolute()
    return Configuration(
        backend=settings.backend,
        driver_name=name,
        data_dir=data_dir,
        nodes=tuple(_node(entry, settings, name) for entry in _entries(settings, data_dir)),
        options=_options(settings),
        mounts=settings.mounts or (Mounts.REAL if os.geteuid() == 0 else Mounts.LINKED),
    )


def _entries(settings: DriverSettings, data_dir: Path) -> tuple[NodeEntry, ...]:
    if not settings.nodes:
        return (
            NodeEntry(
                id=settings.node_id or hostname(),
                endpoint=settings.endpoint or f"unix://{data_dir / SOCKET}",
                topology=settings.topology,
                max_volumes=settings.max_volumes,
                disks=settings.disks,
                memory=settings.memory,
                plugin_registration_dir=settings.plugin_registration_dir,
            ),
        )
    defaults = DriverSettings()
    both = [name for name in OF_ONE_NODE if getattr(settings, name) != getattr(defaults, name)]
    if both:
        listed = ", ".join(name.replace("_", "-") for name in both)
        raise ConfigError(f"{listed}: say this for each of the nodes, under nodes")
    for what in ("id", "endpoint"):
        values = [getattr(node, what) for node in settings.nodes if getattr(node, what)]
        if repeated := sorted({value for value in values if values.count(value) > 1}):
            raise ConfigError(f"nodes: several have the {what} {', '.join(repeated)}")
    return settings.nodes


def _node(entry: NodeEntry, settings: DriverSettings, driver_name: str) -> NodeSettings:
    if not entry.id or len(entry.id.encode()) > NODE_ID_BYTES:
        raise ConfigError(f"node {entry.id!r}: an id has 1 to {NODE_ID_BYTES} bytes")
    topology = dict(entry.topology)
    if settings.backend in ON_NODES:
        topology["node"] = entry.id
    if entry.max_volumes < 0:
        raise ConfigError(f"node {entry.id}: max-volumes: must not be negative")
    return NodeSettings(
        id=entry.id,
        endpoint=entry.endpoint,
        topology=segment(driver_name, topology, f"node {entry.id}"),
        max_volumes=entry.max_volumes or settings.max_volumes,
        disks=tuple(parse_disk(text, create=settings.create_disk) for text in entry.disks),
        memory_bytes=_size(entry.memory, "memory"),
        plugin_registration_dir=entry.plugin_registration_dir,
    )


def segment(driver_name: str, topology: Mapping[str, str], where: str) -> dict[str, str]:
    """With full keys. Raises ConfigError for what cannot be a label of a node."""
    found: dict[str, str] = {}
    for name, value in sorted(topology.items()):
        key = topology_key(driver_name, name)
        if not LABEL_NAME.fullmatch(key):
            raise ConfigError(f"{where}: topology: {name}: is no name of a label")
        if not LABEL_VALUE.fullmatch(value):
            raise ConfigError(f"{where}: topology: {name}: {value!r} is no value of a label")
        found[key] = value
    return found


def parse_disk(text: str, *, create: bool = False) -> Disk:
    """`/srv/a` or `/srv/a=100Gi`. Raises ConfigError."""
    path, equals, size = text.rpartition("=")
    if not equals:
        path, size = text, ""
    if not path:
        raise ConfigError(f"--disk: {text}: write PATH or PATH=SIZE")
    wanted = _size(size, f"--disk: {text}") if equals else None
    if wanted == 0:
        raise ConfigError(f"--disk: {text}: has no room")
    return Disk(path=Path(path).absolute(), size_bytes=wanted, create=create)


def _size(text: str, where: str) -> int:
    try:
        size = parse_size(text)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from error
    if size < 0:
        raise ConfigError(f"{where}: {text} must not be negative")
    return size


def _options(settings: DriverSettings) -> dict[str, Any]:
    options = dict(settings.options)
    if settings.pools:
        options |= _document(Path(settings.pools))
    if settings.volume_group:
        options["volumeGroup"] = settings.volume_group
    return options


def _document(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ConfigError(f"--pools: {path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"--pools: {path}: is not YAML: {error}") from error
    if not isinstance(document, dict):
        raise ConfigError(f"--pools: {path}: must hold settings by name")
    return document
