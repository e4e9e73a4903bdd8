"""From flags, environment and files to what a driver is told: everything that can be wrong is said.

One node is described by the settings themselves; several, each with a socket of its own, under
`nodes`.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml
from msgspec import Meta

from plimsoll.api.sizes import parse_size
from plimsoll.decide.ceph.domain_labels import KUBERNETES, DomainLabels, parse_domain_labels
from plimsoll.processes.driver.backends.registry import BACKENDS
from plimsoll.processes.driver.settings import (
    BackendSettings,
    Disk,
    Mounts,
    NodeSettings,
    topology_key,
)
from plimsoll.reconcile.options import KubeconfigContext
from plimsoll.runtime import config
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.config import ConfigError
from plimsoll.runtime.flags import (
    Flag,
    PathKind,
    gather_all,
    gather_pairs,
    gather_values,
    parse_list,
)
from plimsoll.runtime.ids import hostname
from plimsoll.wire.csi.server import EndpointError, socket_path

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

    backend: Annotated[
        str,
        Meta(description="What volumes are made of: local, lvm, pools or rbd."),
        Flag("What volumes are made of.", choices=tuple(BACKENDS)),
    ] = "local"
    endpoint: Annotated[
        str,
        Meta(description="The socket, unix:///…; empty: csi.sock in the data directory."),
        Flag(
            "The socket to answer on.",
            metavar="unix://PATH",
            default="csi.sock in the data directory",
        ),
    ] = ""
    node_id: Annotated[
        str,
        Meta(description="Empty: the name of this machine."),
        Flag("This node.", metavar="NAME", default="the name of the machine"),
    ] = ""
    data_dir: Annotated[
        str,
        Meta(description="Where the driver's records are, and volumes that are nowhere else."),
        Flag("Where records are kept, and volumes.", path=PathKind.DIRECTORY),
    ] = "plimsoll-data/driver"
    driver_name: Annotated[
        str,
        Meta(description="Empty: the backend's, `local.plimsoll.dev` and so on."),
        Flag("What classes call it.", metavar="NAME", default="BACKEND.plimsoll.dev"),
    ] = ""
    disks: Annotated[
        tuple[str, ...],
        Meta(
            description="Directories, disks or partitions for volumes, each with the size to be"
            " used: /srv/a=100Gi."
        ),
        Flag(
            "A directory or disk for volumes, and how much of it; may be repeated.",
            name="disk",
            metavar="PATH[=SIZE]",
            gather=gather_all,
        ),
    ] = ()
    create_disk: Annotated[
        bool,
        Meta(
            description="Make the directories of disks that do not exist; otherwise a missing"
            " one is refused."
        ),
        Flag(
            "Make directories of --disk that do not exist, on the file system above them.",
            default="",
        ),
    ] = False
    memory: Annotated[
        str,
        Meta(description="How much memory volumes of `medium: memory` may take in sum."),
        Flag("Memory for volumes of medium memory, in sum.", metavar="SIZE", default=""),
    ] = "0"
    volume_group: Annotated[
        str, Meta(description="For lvm."), Flag("For the lvm backend.", metavar="NAME")
    ] = ""
    pools: Annotated[
        str,
        Meta(description="For pools: a file that describes them."),
        Flag("For the pools backend: a file of pools.", path=PathKind.FILE),
    ] = ""
    options: Annotated[
        dict[str, Any],
        Meta(description="What only this backend understands."),
        Flag(
            "Another option of the backend; may be repeated.",
            name="backend-option",
            metavar="KEY=VALUE",
            gather=gather_values,
        ),
    ] = msgspec.field(default_factory=dict)
    topology: Annotated[
        dict[str, str],
        Meta(description="Where this node is: zone: a. A name without a prefix gets the driver's."),
        Flag(
            "Where this node is, such as zone=a; may be repeated.",
            metavar="KEY=VALUE",
            gather=gather_pairs,
        ),
    ] = msgspec.field(default_factory=dict)
    domain_labels: Annotated[
        tuple[str, ...],
        Meta(
            description="Labels of the Node object that tell where this node is, the widest"
            " domain first; changes are followed."
        ),
        Flag(
            "Labels of the Node object that tell where this node is, the widest domain first,"
            " separated by commas or semicolons.",
            metavar="LABEL;…",
            parse=parse_list,
        ),
    ] = ()
    orchestrator: Annotated[
        str,
        Meta(description="Whose labels are read; only kubernetes is known."),
        Flag("Whose labels --domain-labels names.", metavar="NAME"),
    ] = KUBERNETES
    kubeconfig: Annotated[
        str,
        Meta(
            description="For the labels. Empty: KUBECONFIG, ~/.kube/config, or the service"
            " account of our pod."
        ),
        Flag("The cluster, for --domain-labels.", metavar="FILE"),
    ] = ""
    context: KubeconfigContext = ""
    max_volumes: Annotated[
        int,
        Meta(description="How many volumes a node can have at once; 0: no limit."),
        Flag(at_least=0, default=""),
    ] = 0
    plugin_registration_dir: Annotated[
        str,
        Meta(
            description="Where kubelet, or plimsoll node, looks for drivers; empty: another"
            " program registers it."
        ),
        Flag(
            "Where kubelet looks for drivers: register there without a sidecar.",
            path=PathKind.DIRECTORY,
        ),
    ] = ""
    nodes: Annotated[
        tuple[NodeEntry, ...],
        Meta(
            description="For a driver that serves several nodes at once, instead of the settings"
            " of one."
        ),
    ] = ()
    mounts: Annotated[
        Mounts | None,
        Meta(description="real, linked or none; not set: real for root, linked for others."),
        Flag("How volumes get to pods.", default="real for root, linked for others"),
    ] = None
    metrics_port: Annotated[
        int | None,
        Meta(
            description="On 127.0.0.1, for /metrics, /healthz, /livez and /readyz; 0: a free"
            " one; not set: none."
        ),
        Flag(
            "Port on 127.0.0.1 for /metrics, /healthz and /readyz; 0 takes a free one.",
            at_least=0,
            at_most=65535,
            default="none",
        ),
    ] = None


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
    options_source: str
    mounts: Mounts
    domains: DomainLabels
    """What tells where the node is, beyond its settings."""

    def backend_settings(self, clock: Clock) -> BackendSettings:
        return BackendSettings(
            clock=clock,
            driver_name=self.driver_name,
            data_dir=self.data_dir,
            nodes=self.nodes,
            options=self.options,
            options_source=self.options_source,
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
        options_source=_options_source(settings),
        mounts=settings.mounts or (Mounts.REAL if os.geteuid() == 0 else Mounts.LINKED),
        domains=_domains(settings, name),
    )


def _domains(settings: DriverSettings, driver_name: str) -> DomainLabels:
    text = ",".join(settings.domain_labels)
    try:
        return parse_domain_labels(text, driver=driver_name, orchestrator=settings.orchestrator)
    except ValueError as error:
        flag = "domain-labels" if settings.orchestrator == KUBERNETES else "orchestrator"
        raise ConfigError(f"--{flag}: {error}") from error


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
    _check_endpoint(entry.endpoint)
    return NodeSettings(
        id=entry.id,
        endpoint=entry.endpoint,
        topology=segment(driver_name, topology, f"node {entry.id}"),
        max_volumes=entry.max_volumes or settings.max_volumes,
        disks=tuple(parse_disk(text, create=settings.create_disk) for text in entry.disks),
        memory_bytes=_size(entry.memory, "memory"),
        plugin_registration_dir=entry.plugin_registration_dir,
    )


def _check_endpoint(endpoint: str) -> None:
    try:
        if endpoint:
            socket_path(endpoint)
    except EndpointError as error:
        raise ConfigError(str(error)) from error


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


def _options_source(settings: DriverSettings) -> str:
    if settings.pools and settings.options:
        return f"{settings.pools} and the other options"
    return settings.pools


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
