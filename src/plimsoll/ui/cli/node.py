"""`plimsoll node`: be a node, or many of them."""

from pathlib import Path
from typing import Any

import click
import uvloop

from plimsoll.processes.node import main as process
from plimsoll.processes.node.settings import PREFIX, NodeProcessSettings
from plimsoll.runtime.config import Sources, environment, load_settings
from plimsoll.runtime.log import LogFormat, configure_logging
from plimsoll.ui.failures import failures_told
from plimsoll.ui.stdout import say

LEVELS = click.Choice(["debug", "info", "warning", "error"])
DEFAULTS = NodeProcessSettings()


@click.command()
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Settings, YAML.")
@click.option("--kubeconfig", metavar="FILE", help="The cluster; by default as kubectl finds it.")
@click.option("--context", metavar="NAME", help="The context of the kubeconfig.")
@click.option("--node-name", metavar="NAME", help="The node to be.  [default: the machine's name]")
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False),
    help="The node's directory, laid out like kubelet's; pods' volumes are below it."
    f"  [default: {DEFAULTS.data_dir}]",
)
@click.option(
    "--plugin-registration-dir",
    type=click.Path(file_okay=False),
    help="Where drivers put their registration sockets."
    "  [default: plugins_registry in the data directory]",
)
@click.option("--labels", metavar="KEY=VALUE,…", help="More labels for the node.")
@click.option(
    "--capacity",
    metavar="RESOURCE=QUANTITY,…",
    help=f"What pods can be given; nothing is measured.  [default: {DEFAULTS.capacity}]",
)
@click.option(
    "--node-ip",
    metavar="ADDRESS",
    help=f"The address that the node is reported with.  [default: {DEFAULTS.node_ip}]",
)
@click.option(
    "--pod-cidr",
    metavar="NETWORK",
    help="Where pods' addresses are from, which nobody can reach."
    "  [default: a piece of 100.64.0.0/10]",
)
@click.option(
    "--lease-renew",
    metavar="DURATION",
    help="How often a node says that it is alive.  [default: 10s]",
)
@click.option(
    "--hollow",
    type=click.IntRange(min=1),
    help="Be so many nodes without directories and mounts, instead of a real one.",
)
@click.option(
    "--name-prefix",
    metavar="TEXT",
    help=f"Of the names of hollow nodes; a number follows.  [default: {DEFAULTS.name_prefix}]",
)
@click.option(
    "--drivers",
    metavar="NAME=ENDPOINT,…",
    help="Drivers of hollow nodes; {node} in an endpoint stands for the node's name.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    help="Port on 127.0.0.1 for /metrics, /healthz and /readyz; 0 takes a free one."
    f"  [default: {DEFAULTS.metrics_port}]",
)
@click.option("--log-level", type=LEVELS, default="info", show_default=True)
@click.option(
    "--log-format", type=click.Choice([f.value for f in LogFormat]), default=LogFormat.CONSOLE.value
)
def node(config: Path | None, log_level: str, log_format: str, **flags: Any) -> None:
    """Be a node: register CSI drivers, and bring volumes to pods, until SIGTERM or SIGINT.

    Volumes are real, containers are not: none is run, and pods whose volumes are in place are
    reported as running. What is mounted stays mounted when the process ends; the next one finds
    it. Settings come from the file of --config, then from PLIMSOLL_NODE_… in the environment, then
    from these options.
    """
    configure_logging(level=log_level, form=LogFormat(log_format))
    sources = Sources(file=config, environment=environment(), prefix=PREFIX, flags=flags)
    with failures_told():
        settings = load_settings(NodeProcessSettings, sources)
        uvloop.run(process.run(settings, say))
