"""`plimsoll provisioner`: csi-provisioner's place beside a CSI driver."""

import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NoReturn

import click
import uvloop

from plimsoll.processes.provisioner import main as process
from plimsoll.processes.provisioner.clients import DriverLostError
from plimsoll.processes.provisioner.settings import ProvisionerFlags, load
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.config import environment
from plimsoll.runtime.ids import system_chance
from plimsoll.runtime.log import LogFormat, configure_logging
from plimsoll.ui.failures import failures_told
from plimsoll.ui.options.go_flags import Gates, GoBool, GoCommand, Pairs
from plimsoll.ui.options.settings_options import Types, settings_options
from plimsoll.ui.stdout import say
from plimsoll.ui.swap_back import prepare_swap_back
from plimsoll.wire.connect import connect
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment

DEBUG_FROM = 5
"""The klog verbosity from which on everything is told."""
TYPES: Types = {
    bool: GoBool(),
    dict[str, str]: Pairs(":"),
    dict[str, bool]: Gates(),
}
WITHOUT_EFFECT: dict[str, click.ParamType[Any]] = {
    "automaxprocs": GoBool(),
    "enable-pprof": GoBool(),
    "logtostderr": GoBool(),
    "log-flush-frequency": click.STRING,
    "log-json-info-buffer-size": click.STRING,
    "log-json-split-stream": GoBool(),
    "log-text-info-buffer-size": click.STRING,
    "log-text-split-stream": GoBool(),
    "vmodule": click.STRING,
}


def _without_effect(command: Callable[..., Any]) -> Callable[..., Any]:
    """Flags of manifests that mean nothing here: how Go programs are profiled, and how they log."""
    for name, type_ in reversed(WITHOUT_EFFECT.items()):
        command = click.option(f"--{name}", type=type_, help="Accepted, without effect.")(command)
    return command


@click.command(cls=GoCommand)
@settings_options(ProvisionerFlags, TYPES)
@click.option("--v", "verbosity", type=click.INT, default=0, help="klog's verbosity; 5: debug.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    help="What is worth a line, where --v does not say debug.",
)
@click.option("--version", "show_version", type=GoBool(), default=False, help="Print the version.")
@click.option(
    "--prepare-swap-back",
    "swap_back",
    metavar="DRIVER",
    default="",
    help="Do not run: tell what keeps csi-provisioner from taking over this driver again, and clear"
    " what is safe to clear. Needs no socket.",
)
@click.option(
    "--dry-run",
    type=GoBool(),
    default=False,
    help="With --prepare-swap-back: clear nothing, only tell.",
)
@_without_effect
@click.option(
    "--logging-format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="How log lines look.",
)
def provisioner(
    *, verbosity: int, log_level: str, show_version: bool, logging_format: str, **flags: Any
) -> None:
    """Make and delete the volumes of one CSI driver, and publish its capacity, until SIGTERM.

    Takes csi-provisioner's flags, as Go programs take them, and its environment: NAMESPACE,
    POD_NAME, NODE_NAME, KUBECONFIG. Exit codes: 0 stopped, 1 the driver or the leadership was
    lost, or the server refuses us, 2 bad usage. With --prepare-swap-back: 0 csi-provisioner can
    take over, 1 something is outstanding, or the cluster could not be reached.
    """
    if show_version:
        click.echo(f"plimsoll provisioner {version('plimsoll')}")
        return
    for name in WITHOUT_EFFECT:
        del flags[name.replace("-", "_")]
    form = LogFormat.JSON if logging_format == "json" else LogFormat.CONSOLE
    configure_logging(level="debug" if verbosity >= DEBUG_FROM else log_level, form=form)
    swap_back, dry_run = flags.pop("swap_back"), flags.pop("dry_run")
    if dry_run and not swap_back:
        raise click.UsageError("--dry-run: only --prepare-swap-back has one")
    with failures_told(failures=(DriverError, DriverLostError)):
        settings = load(environment(), flags)
        if swap_back:
            _prepare_swap_back(settings, swap_back, dry_run=dry_run)
        uvloop.run(process.run(settings, say))


def _prepare_swap_back(settings: ProvisionerFlags, driver: str, *, dry_run: bool) -> NoReturn:
    options = ConnectionOptions(kubeconfig=settings.kubeconfig)
    found = KubeconfigEnvironment(environment=environment(), clock=SystemClock())
    client = connect(options, found, system_chance(), manager="plimsoll-provisioner")
    report = uvloop.run(prepare_swap_back(client, driver, dry_run=dry_run))
    if not report.is_known:
        remark = f"no class and no volume names the driver {driver}; is that its name?"
        click.echo(f"remark: {remark}", err=True)
    for line in report.lines():
        click.echo(line)
    sys.exit(0 if report.is_ready else 1)
