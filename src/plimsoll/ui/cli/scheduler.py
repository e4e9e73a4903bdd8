"""`plimsoll scheduler`: put pods on nodes."""

from pathlib import Path
from typing import Any

import click
import uvloop

from plimsoll.decide.scheduling.policy import Policy
from plimsoll.processes.scheduler import main as process
from plimsoll.processes.scheduler.settings import SchedulerSettings, load
from plimsoll.runtime.config import environment
from plimsoll.runtime.log import LogFormat, configure_logging
from plimsoll.ui.failures import failures_told
from plimsoll.ui.stdout import say

LEVELS = click.Choice(["debug", "info", "warning", "error"])
DEFAULTS = SchedulerSettings()


@click.command()
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Settings, YAML: our own, or a KubeSchedulerConfiguration.",
)
@click.option("--kubeconfig", metavar="FILE", help="The cluster; by default as kubectl finds it.")
@click.option("--context", metavar="NAME", help="The context of the kubeconfig.")
@click.option(
    "--scheduler-name",
    metavar="NAME",
    help="Schedule the pods that name this scheduler; default-scheduler: those that name none."
    f"  [default: {DEFAULTS.scheduler_name}]",
)
@click.option(
    "--policy",
    type=click.Choice([policy.value for policy in Policy]),
    help="compatible: decide as kube-scheduler does; default: also share existing volumes out"
    " where that takes more than a first try, and prefer nodes that were not refused."
    f"  [default: {DEFAULTS.policy.value}]",
)
@click.option(
    "--bind-timeout",
    metavar="DURATION",
    help="How long a pod waits for its volumes before it is scheduled anew.  [default: 10m]",
)
@click.option(
    "--leader-elect/--no-leader-elect",
    default=None,
    help="Act only while holding a lease.  [default: leader-elect]",
)
@click.option(
    "--leader-elect-namespace",
    metavar="NAME",
    help=f"Where the lease is.  [default: {DEFAULTS.leader_elect_namespace}]",
)
@click.option(
    "--leader-elect-name",
    metavar="NAME",
    help="What the lease is called.  [default: plimsoll-scheduler, and the scheduler's name]",
)
@click.option(
    "--leader-elect-identity",
    metavar="NAME",
    help="Who this copy is to the others; only where no two copies with it can run."
    "  [default: never the same]",
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
def scheduler(config: Path | None, log_level: str, log_format: str, **flags: Any) -> None:
    """Put pods on nodes, volumes first, until SIGTERM or SIGINT.

    Prints one line when it begins. Settings come from the file of --config, then from
    PLIMSOLL_SCHEDULER_… in the environment, then from these options.
    """
    configure_logging(level=log_level, form=LogFormat(log_format))
    with failures_told():
        settings = load(config, environment(), flags)
        uvloop.run(process.run(settings, say))
