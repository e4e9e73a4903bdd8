"""The machine side in one process: drivers and nodes, which mount, format and keep records.

It is a process of its own so that work that blocks never delays the API server. Nodes reach the
server over the network and the drivers over their sockets, as processes of their own would.
"""

import ssl
from datetime import timedelta
from importlib import import_module
from pathlib import Path

from plimsoll.processes.driver.configuration import PREFIX as DRIVER_PREFIX, DriverSettings
from plimsoll.processes.node.settings import PREFIX as NODE_PREFIX, NodeProcessSettings
from plimsoll.reconcile.process import OnReady, system_identity
from plimsoll.runtime.clock import Clock, SystemClock
from plimsoll.runtime.config import Sources, environment, load_settings
from plimsoll.runtime.flags import read_arguments
from plimsoll.runtime.signals import until_signalled
from plimsoll.ui.local_cluster import layout
from plimsoll.ui.local_cluster.access import identities
from plimsoll.ui.local_cluster.access.clients import connected
from plimsoll.ui.local_cluster.assembled import run_parts, supervision, until
from plimsoll.ui.local_cluster.children import Child
from plimsoll.ui.local_cluster.hollow import hollow
from plimsoll.ui.local_cluster.layout import ClusterOptions, settings_file
from plimsoll.ui.local_cluster.objects import LOCAL, POOLS
from plimsoll.ui.parts.assembly import Part, PartEnvironment, PartLife
from plimsoll.ui.parts.machine import driver, node
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.probe import is_answered

NAME = "machine"
ANSWER_LIMIT = timedelta(seconds=10)


async def run(wanted: ClusterOptions, on_ready: OnReady) -> None:
    """Until SIGTERM or SIGINT. What is mounted stays mounted: the next life finds it."""
    clock = SystemClock()
    # Takes long to load; the API server takes longer to start.
    import_module("plimsoll.wire.http")

    def begun(addresses: list[str]) -> None:
        on_ready(f"plimsoll {NAME} ready: {', '.join(addresses)}")

    await until_signalled(run_parts(NAME, _parts(wanted, clock), supervision(clock), begun))


def _parts(wanted: ClusterOptions, clock: Clock) -> dict[str, Part]:
    """Drivers first: nodes end before them. Raises ConfigError."""
    if wanted.hollow:
        kubeconfig = identities.HOLLOW.kubeconfig(wanted.data_dir)
        around = _environment(kubeconfig, clock)
        return {"hollow nodes": hollow(wanted, around, lambda: _served(wanted, kubeconfig, clock))}
    parts = {
        child.name: driver(_driver_settings(wanted, name), _environment(None, clock))
        for name, child in zip((LOCAL, POOLS), layout.drivers(wanted), strict=True)
    }
    for name, child in zip(wanted.names, layout.nodes(wanted), strict=True):
        kubeconfig = identities.node(name).kubeconfig(wanted.data_dir)
        live = node(_node_settings(child), _environment(kubeconfig, clock))
        parts[child.name] = _beside_the_server(wanted, kubeconfig, live, clock)
    return parts


def _environment(kubeconfig: Path | None, clock: Clock) -> PartEnvironment:
    """None: the part does not ask the server for anything."""

    def client(component: str) -> KubeClient:
        if kubeconfig is None:
            raise ValueError(f"{component} has no credentials")
        return connected(kubeconfig, clock, component)

    return PartEnvironment(clock=clock, client=client, identity=system_identity)


def _beside_the_server(wanted: ClusterOptions, kubeconfig: Path, live: Part, clock: Clock) -> Part:
    """The server is in another process, which may be away for a while."""

    async def when_served(life: PartLife) -> None:
        await _served(wanted, kubeconfig, clock)
        await live(life)

    return when_served


async def _served(wanted: ClusterOptions, kubeconfig: Path, clock: Clock) -> None:
    """Return when the API server answers, and the control plane has written the kubeconfig."""

    def is_written() -> bool:
        return wanted.authority.exists() and kubeconfig.exists()

    async def is_so() -> bool:
        if not is_written():
            return False
        trust = ssl.create_default_context(cafile=wanted.authority)
        return await is_answered(f"{wanted.url}/healthz", ANSWER_LIMIT, trust)

    await until(is_so, clock)


def _driver_settings(wanted: ClusterOptions, name: str) -> DriverSettings:
    sources = Sources(
        file=settings_file(wanted, name), environment=environment(), prefix=DRIVER_PREFIX
    )
    return load_settings(DriverSettings, sources)


def _node_settings(child: Child) -> NodeProcessSettings:
    given = read_arguments(NodeProcessSettings, child.arguments[1:])
    sources = Sources(environment=environment(), prefix=NODE_PREFIX, flags=given)
    return load_settings(NodeProcessSettings, sources)
