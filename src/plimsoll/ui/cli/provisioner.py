"""`plimsoll provisioner`: csi-provisioner's place beside a CSI driver."""

import sys
from collections.abc import Callable
from datetime import timedelta
from importlib.metadata import version
from typing import Any

import click
import msgspec
import uvloop

from plimsoll.enact.leading import LeadershipLostError
from plimsoll.processes.provisioner import main as process
from plimsoll.processes.provisioner.settings import FROM_THE_ENVIRONMENT, Settings, load
from plimsoll.runtime.config import ConfigError, environment, meanings, written_duration
from plimsoll.runtime.log import LogFormat, configure_logging
from plimsoll.ui.cli.go_flags import Gates, GoBool, GoCommand, Pairs
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kubeconfig_files import KubeconfigError

DEBUG_FROM = 5
"""The klog verbosity from which on everything is told."""
NOT_FLAGS = frozenset(FROM_THE_ENVIRONMENT.values())
TYPES: dict[Any, click.ParamType[Any]] = {
    bool: GoBool(),
    int: click.INT,
    float: click.FLOAT,
    dict[str, str]: Pairs(),
    dict[str, bool]: Gates(),
}
METAVARS: dict[Any, str] = {timedelta: "DURATION", dict[str, str]: "KEY=VALUE,…"}


def _flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """One option for each setting; the setting's own words are its help."""
    about = meanings(Settings)
    for field in reversed(msgspec.structs.fields(Settings)):
        if field.name in NOT_FLAGS:
            continue
        told = _told(field.default)
        ending = f"  [default: {told}]" if told else ""
        command = click.option(
            f"--{field.name.replace('_', '-')}",
            field.name,
            type=TYPES.get(field.type, click.STRING),
            metavar=METAVARS.get(field.type),
            default=None,
            help=about.get(field.name, "") + ending,
        )(command)
    return command


def _told(default: object) -> str:
    match default:
        case bool():
            return str(default).lower()
        case timedelta():
            return written_duration(default)
        case int() | float() | str():
            return str(default)
        case _:
            return ""


@click.command(cls=GoCommand)
@_flags
@click.option("--v", "verbosity", type=click.INT, default=0, help="klog's verbosity; 5: debug.")
@click.option("--version", "show_version", type=GoBool(), default=False, help="Print the version.")
@click.option("--enable-pprof", type=GoBool(), default=False, help="Accepted, without effect.")
@click.option("--automaxprocs", type=GoBool(), default=False, help="Accepted, without effect.")
@click.option("--logtostderr", type=GoBool(), default=True, help="Accepted: logs go there anyway.")
@click.option(
    "--logging-format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="How log lines look.",
)
def provisioner(*, verbosity: int, show_version: bool, logging_format: str, **flags: Any) -> None:
    """Make and delete the volumes of one CSI driver, and publish its capacity, until SIGTERM.

    Takes csi-provisioner's flags, as Go programs take them, and its environment: NAMESPACE,
    POD_NAME, NODE_NAME, KUBECONFIG. Exit codes: 0 stopped, 1 the driver or the leadership was
    lost, or the server refuses us, 2 bad usage.
    """
    if show_version:
        click.echo(f"plimsoll provisioner {version('plimsoll')}")
        return
    for name in ("enable_pprof", "automaxprocs", "logtostderr"):
        del flags[name]
    form = LogFormat.JSON if logging_format == "json" else LogFormat.CONSOLE
    configure_logging(level="debug" if verbosity >= DEBUG_FROM else "info", form=form)
    try:
        settings = load(environment(), flags)
        uvloop.run(process.run(settings, _ready))
    except (ConfigError, KubeconfigError) as error:
        raise click.UsageError(str(error)) from error
    except (KubeError, DriverError, LeadershipLostError, process.DriverLostError) as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"cannot serve metrics: {error}") from error


def _ready(driver: str) -> None:
    click.echo(f"plimsoll provisioner ready for {driver}")
    sys.stdout.flush()
