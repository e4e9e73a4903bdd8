"""`plimsoll provisioner`: csi-provisioner's place beside a CSI driver."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import click
import uvloop

from plimsoll.processes.provisioner import main as process
from plimsoll.processes.provisioner.clients import DriverLostError
from plimsoll.processes.provisioner.settings import ProvisionerFlags, load
from plimsoll.runtime.config import environment
from plimsoll.runtime.log import LogFormat, configure_logging
from plimsoll.ui.failures import failures_told
from plimsoll.ui.options.go_flags import Gates, GoBool, GoCommand, Pairs
from plimsoll.ui.options.settings_options import Types, settings_options
from plimsoll.ui.stdout import say
from plimsoll.wire.csi.errors import DriverError

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
    lost, or the server refuses us, 2 bad usage.
    """
    if show_version:
        click.echo(f"plimsoll provisioner {version('plimsoll')}")
        return
    for name in WITHOUT_EFFECT:
        del flags[name.replace("-", "_")]
    form = LogFormat.JSON if logging_format == "json" else LogFormat.CONSOLE
    configure_logging(level="debug" if verbosity >= DEBUG_FROM else log_level, form=form)
    with failures_told(failures=(DriverError, DriverLostError)):
        settings = load(environment(), flags)
        uvloop.run(process.run(settings, say))
