"""Settings of the node process, and the nodes that they describe."""

import platform
from collections.abc import Callable, Mapping
from datetime import timedelta
from hashlib import sha256
from importlib.metadata import version
from ipaddress import IPv4Network
from itertools import islice
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from plimsoll.api.quantity import parse_quantity
from plimsoll.decide.node.node_object import Machine
from plimsoll.processes.node.directory.protocol import NoDirectory
from plimsoll.processes.node.directory.real import RealDirectory
from plimsoll.processes.node.plugins import GivenDrivers, RegistrationDirectory, address_of
from plimsoll.processes.node.served_node import ServedNode
from plimsoll.reconcile.options import KubeconfigContext, KubeconfigPath, MetricsPort
from plimsoll.runtime import config
from plimsoll.runtime.config import ConfigError
from plimsoll.runtime.flags import Flag, PathKind
from plimsoll.runtime.ids import hostname
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.transport import CsiTransport

COMPONENT = "plimsoll-node"
PREFIX = "PLIMSOLL_NODE"
POD_ADDRESSES = IPv4Network("100.64.0.0/10")
"""Set aside for uses that are not routed; a piece of it for each node."""
ADDRESSES_PER_NODE = 24
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm"}
NODE_IN_ENDPOINT = "{node}"

DriversOf = Callable[[str], Mapping[str, CsiTransport]]
"""The drivers of a hollow node, by name."""


class NodeProcessSettings(config.Settings, frozen=True, kw_only=True):
    """Defaults of `plimsoll node`."""

    kubeconfig: KubeconfigPath = ""
    context: KubeconfigContext = ""
    node_name: Annotated[
        str,
        Meta(description="Empty: the name of the machine, in lower case."),
        Flag("The node to be.", metavar="NAME", default="the machine's name"),
    ] = ""
    data_dir: Annotated[
        str,
        Meta(
            description="The node's directory, laid out like kubelet's: pods, plugins,"
            " plugins_registry."
        ),
        Flag(
            "The node's directory, laid out like kubelet's; pods' volumes are below it.",
            path=PathKind.DIRECTORY,
        ),
    ] = "plimsoll-node"
    plugin_registration_dir: Annotated[
        str,
        Meta(
            description="Where drivers put their registration sockets; empty: plugins_registry"
            " in the data directory."
        ),
        Flag(
            "Where drivers put their registration sockets.",
            path=PathKind.DIRECTORY,
            default="plugins_registry in the data directory",
        ),
    ] = ""
    labels: Annotated[
        str,
        Meta(description="More labels for the node: key=value, separated by commas."),
        Flag("More labels for the node.", metavar="KEY=VALUE,…"),
    ] = ""
    capacity: Annotated[
        str,
        Meta(
            description="What pods can be given: resource=quantity, separated by commas. Nothing"
            " is measured."
        ),
        Flag("What pods can be given; nothing is measured.", metavar="RESOURCE=QUANTITY,…"),
    ] = "cpu=4,memory=8Gi,pods=110,ephemeral-storage=100Gi"
    node_ip: Annotated[
        str,
        Meta(
            description="The address that the node and its pods on the host network are reported"
            " with."
        ),
        Flag("The address that the node is reported with.", metavar="ADDRESS"),
    ] = "127.0.0.1"
    pod_cidr: Annotated[
        str,
        Meta(
            description="Where pods' addresses are from; none of them can be reached. Empty: a"
            " piece of 100.64.0.0/10."
        ),
        Flag(
            "Where pods' addresses are from, none of which can be reached.",
            metavar="NETWORK",
            default="a piece of 100.64.0.0/10",
        ),
    ] = ""
    lease_renew: Annotated[
        timedelta,
        Meta(
            description="How often a node says that it is alive. Of more than 500 hollow nodes"
            " each does it less often, up to every 20 seconds."
        ),
        Flag("How often a node says that it is alive."),
    ] = timedelta(seconds=10)
    hollow: Annotated[
        int,
        Meta(
            description="How many nodes without a directory and without mounts to be, instead of"
            " one real node."
        ),
        Flag(
            "Be so many nodes without directories and mounts, instead of a real one.",
            at_least=1,
            default="",
        ),
    ] = 0
    name_prefix: Annotated[
        str,
        Meta(description="Of the names of hollow nodes; a number follows."),
        Flag(metavar="TEXT"),
    ] = "hollow-"
    drivers: Annotated[
        str,
        Meta(
            description="Drivers of hollow nodes: name=endpoint, separated by commas; {node} in"
            " an endpoint stands for the node's name."
        ),
        Flag(
            "Drivers of hollow nodes; {node} in an endpoint stands for the node's name.",
            metavar="NAME=ENDPOINT,…",
        ),
    ] = ""
    metrics_port: MetricsPort = 10268


def pairs(text: str, option: str) -> dict[str, str]:
    """`a=1,b=2`. Raises ConfigError."""
    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = part.partition("=")
        if not key or not equals:
            raise ConfigError(f"{option}: {part!r}: write NAME=VALUE, separated by commas")
        found[key] = value
    return found


def node_name_of(settings: NodeProcessSettings) -> str:
    return settings.node_name or hostname().lower()


def machine(settings: NodeProcessSettings, name: str) -> Machine:
    """Raises ConfigError."""
    capacity = pairs(settings.capacity, "--capacity")
    for resource, quantity in capacity.items():
        try:
            parse_quantity(quantity)
        except ValueError as error:
            raise ConfigError(f"--capacity: {resource}: {error}") from error
    return Machine(
        name=name,
        address=settings.node_ip,
        labels=pairs(settings.labels, "--labels"),
        capacity=capacity,
        architecture=ARCHITECTURES.get(platform.machine(), platform.machine()),
        kernel=platform.release(),
        version=version("plimsoll"),
    )


def network_of(settings: NodeProcessSettings, name: str) -> IPv4Network:
    """Raises ConfigError."""
    if settings.pod_cidr:
        try:
            return IPv4Network(settings.pod_cidr)
        except ValueError as error:
            raise ConfigError(f"--pod-cidr: {error}") from error
    pieces = 1 << (ADDRESSES_PER_NODE - POD_ADDRESSES.prefixlen)
    number = int.from_bytes(sha256(name.encode()).digest()[:4], "big") % pieces
    # Each piece begins where the one before it ends: there are too many to list for one.
    first = POD_ADDRESSES[number << (POD_ADDRESSES.max_prefixlen - ADDRESSES_PER_NODE)]
    return IPv4Network((first, ADDRESSES_PER_NODE))


def real_node(settings: NodeProcessSettings) -> dict[str, ServedNode]:
    """One node with a directory. Raises ConfigError."""
    name = node_name_of(settings)
    root = Path(settings.data_dir).absolute()
    registration = Path(settings.plugin_registration_dir or root / "plugins_registry")
    for path in (root, registration):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"{path}: cannot be made: {error.strerror}") from error
    if settings.drivers:
        raise ConfigError("--drivers: only for hollow nodes; drivers register themselves here")
    return {
        name: ServedNode(
            machine=machine(settings, name),
            directory=RealDirectory(root, name),
            plugins=RegistrationDirectory(registration.absolute()),
            network=network_of(settings, name),
        )
    }


def hollow_nodes(
    settings: NodeProcessSettings, drivers_of: DriversOf | None = None
) -> dict[str, ServedNode]:
    """Nodes that mount nothing, all in this process. Raises ConfigError.

    Without `drivers_of`, the drivers are those that the settings name by endpoint.
    """
    chosen = drivers_of or _drivers_by_endpoint(settings)
    found: dict[str, ServedNode] = {}
    networks = islice(POD_ADDRESSES.subnets(new_prefix=ADDRESSES_PER_NODE), settings.hollow)
    for number, network in enumerate(networks):
        name = f"{settings.name_prefix}{number}"
        found[name] = ServedNode(
            machine=machine(settings, name),
            directory=NoDirectory(name),
            plugins=GivenDrivers(chosen(name)),
            network=network,
        )
    if len(found) < settings.hollow:
        raise ConfigError(f"--hollow: there are addresses for {len(found)} nodes, not more")
    return found


def _drivers_by_endpoint(settings: NodeProcessSettings) -> DriversOf:
    endpoints = pairs(settings.drivers, "--drivers")
    return lambda node: {
        name: GrpcTransport(address_of(endpoint.replace(NODE_IN_ENDPOINT, node)))
        for name, endpoint in endpoints.items()
    }


def nodes_of(settings: NodeProcessSettings) -> dict[str, ServedNode]:
    """Raises ConfigError."""
    return hollow_nodes(settings) if settings.hollow else real_node(settings)
