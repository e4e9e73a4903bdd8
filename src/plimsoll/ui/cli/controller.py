"""`plimsoll controller`: run the control loops around claims and volumes."""

from pathlib import Path
from typing import Any

import click
import uvloop

from plimsoll.decide.repair.repairs import RepairRule
from plimsoll.processes.controller import main as process
from plimsoll.processes.controller.in_process.provisioners.registry import ProvisionerSetupError
from plimsoll.processes.controller.loops import LOOPS
from plimsoll.processes.controller.settings import PREFIX, ControllerSettings
from plimsoll.runtime.config import Sources, environment, load_settings
from plimsoll.runtime.log import LogFormat, configure_logging
from plimsoll.ui.failures import failures_told
from plimsoll.ui.stdout import say

LEVELS = click.Choice(["debug", "info", "warning", "error"])
DEFAULTS = ControllerSettings()


def _loops_help() -> str:
    width = max(map(len, LOOPS))
    rows = (f"{name:<{width}}  {entry.about}" for name, entry in LOOPS.items())
    return "\n".join(["\b", "Loops:", *(f"  {row}" for row in rows)])


def _parsed_options(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> dict[str, dict[str, str]] | None:
    found: dict[str, dict[str, str]] = {}
    for text in values:
        name, colon, option = text.partition(":")
        key, equals, value = option.partition("=")
        if not (name and colon and key and equals):
            raise click.BadParameter(f"{text}: write NAME:KEY=VALUE", ctx=ctx, param=param)
        found.setdefault(name, {})[key] = value
    return found or None


def _joined(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> str | None:
    return ",".join(values) or None


@click.command(
    epilog=_loops_help()
    + "\n\nAll but repair run by default on the embedded server, where no kube-controller-manager"
    + " does their work. On a real cluster only those do that work with a driver of --csi-address:"
    + " name the others that nobody else runs there."
)
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Settings, YAML.")
@click.option("--kubeconfig", metavar="FILE", help="The cluster; by default as kubectl finds it.")
@click.option("--context", metavar="NAME", help="The context of the kubeconfig.")
@click.option(
    "--controllers",
    metavar="LOOP,…",
    help="Loops to run, separated by commas: '*' for the default, '-name' to leave one out."
    f"  [default: {DEFAULTS.controllers}]",
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
@click.option(
    "--dynamic-provisioning/--no-dynamic-provisioning",
    default=None,
    help="Let volumes be made for claims.  [default: dynamic-provisioning]",
)
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False),
    help="Where provisioners inside the controller keep what they make."
    f"  [default: {DEFAULTS.data_dir}]",
)
@click.option(
    "--provisioner-option",
    "provisioners",
    multiple=True,
    metavar="NAME:KEY=VALUE",
    callback=_parsed_options,
    help="Set an option of a provisioner, such as plimsoll.dev/host-path:root=/srv/volumes.",
)
@click.option(
    "--csi-address",
    "csi_addresses",
    multiple=True,
    metavar="SOCKET",
    callback=_joined,
    help="The unix socket of a CSI driver, for csi-attacher, resizer and snapshotter; may be given"
    " several times. On a real cluster these loops run by default if there is one.",
)
@click.option(
    "--csi-timeout",
    metavar="DURATION",
    help="How long a CSI driver may take for one call.  [default: 15s]",
)
@click.option(
    "--csi-extra-metadata/--no-csi-extra-metadata",
    default=None,
    help="Tell drivers for which objects they take snapshots.  [default: no-csi-extra-metadata]",
)
@click.option(
    "--node-monitor-grace-period",
    metavar="DURATION",
    help="For how long a node may be silent before it counts as not ready.  [default: 50s]",
)
@click.option(
    "--terminated-pod-gc-threshold",
    type=click.IntRange(min=0),
    help="How many finished pods may stay before the oldest are deleted; 0: all of them."
    f"  [default: {DEFAULTS.terminated_pod_gc_threshold}]",
)
@click.option(
    "--repair",
    metavar="RULE,…",
    help=f"Switch repair rules on, separated by commas: {', '.join(RepairRule)}.  [default: none]",
)
@click.option(
    "--repair-dry-run/--no-repair-dry-run",
    default=None,
    help="Only tell by events what would be repaired.  [default: no-repair-dry-run]",
)
@click.option(
    "--repair-per-minute",
    type=click.IntRange(min=1),
    help=f"How many repairs at most.  [default: {DEFAULTS.repair_per_minute}]",
)
@click.option(
    "--repair-node-lost-after",
    metavar="DURATION",
    help="How long a node must be gone before volumes on its disks are given up.  [default: 1h]",
)
@click.option("--log-level", type=LEVELS, default="info", show_default=True)
@click.option(
    "--log-format", type=click.Choice([f.value for f in LogFormat]), default=LogFormat.CONSOLE.value
)
def controller(config: Path | None, log_level: str, log_format: str, **flags: Any) -> None:
    """Run the control loops around claims and volumes, until SIGTERM or SIGINT.

    Prints one line when the loops start. Settings come from the file of --config, then from
    PLIMSOLL_CONTROLLER_… in the environment, then from these options.
    """
    configure_logging(level=log_level, form=LogFormat(log_format))
    sources = Sources(file=config, environment=environment(), prefix=PREFIX, flags=flags)
    with failures_told(usage=(ProvisionerSetupError,)):
        settings = load_settings(ControllerSettings, sources)
        uvloop.run(process.run(settings, say))
