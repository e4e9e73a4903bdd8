"""`plimsoll driver`: one CSI driver on a unix socket."""

from pathlib import Path
from typing import Any

import click
import uvloop
import yaml

from plimsoll.processes.driver import main as process
from plimsoll.processes.driver.backends.registry import BACKENDS
from plimsoll.processes.driver.configuration import PREFIX, DriverSettings
from plimsoll.processes.driver.ledger import LedgerError
from plimsoll.processes.driver.settings import Mounts, SetupError
from plimsoll.runtime.commands import CommandError
from plimsoll.runtime.config import Sources, environment, load_settings
from plimsoll.runtime.log import LogFormat, configure_logging
from plimsoll.ui.failures import failures_told
from plimsoll.ui.stdout import say
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.server import EndpointError

LEVELS = click.Choice(["debug", "info", "warning", "error"])
DEFAULTS = DriverSettings()


def _pairs(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for text in values:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise click.BadParameter(f"{text}: write KEY=VALUE", ctx=ctx, param=param)
        found[key] = value
    return found or None


def _options(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> dict[str, Any] | None:
    """Values as in a settings file: 5, true, text."""
    pairs = _pairs(ctx, param, values) or {}
    return {key: yaml.safe_load(value) for key, value in pairs.items()} or None


def _listed(
    _ctx: click.Context, _param: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if value else None


def _given(
    _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...] | None:
    return values or None


@click.command()
@click.option(
    "--settings",
    "--config",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="All of this as a YAML file; several nodes at once are under nodes.",
)
@click.option(
    "--backend",
    type=click.Choice(list(BACKENDS)),
    help=f"What volumes are made of.  [default: {DEFAULTS.backend}]",
)
@click.option(
    "--endpoint",
    metavar="unix://PATH",
    help="The socket to answer on.  [default: csi.sock in the data directory]",
)
@click.option("--node-id", metavar="NAME", help="This node.  [default: the name of the machine]")
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False),
    help=f"Where records are kept, and volumes.  [default: {DEFAULTS.data_dir}]",
)
@click.option(
    "--driver-name", metavar="NAME", help="What classes call it.  [default: BACKEND.plimsoll.dev]"
)
@click.option(
    "--disk",
    "disks",
    multiple=True,
    metavar="PATH[=SIZE]",
    callback=_given,
    help="A directory or disk for volumes, and how much of it; may be repeated.",
)
@click.option(
    "--create-disk/--no-create-disk",
    "create_disk",
    default=None,
    help="Make directories of --disk that do not exist, on the file system above them.",
)
@click.option("--memory", metavar="SIZE", help="Memory for volumes of medium memory, in sum.")
@click.option("--volume-group", metavar="NAME", help="For the lvm backend.")
@click.option(
    "--pools", type=click.Path(dir_okay=False), help="For the pools backend: a file of pools."
)
@click.option(
    "--backend-option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_options,
    help="Another option of the backend; may be repeated.",
)
@click.option(
    "--topology",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_pairs,
    help="Where this node is, such as zone=a; may be repeated.",
)
@click.option(
    "--domain-labels",
    metavar="LABEL,…",
    callback=_listed,
    help="Labels of the Node object that tell where this node is, separated by commas.",
)
@click.option("--kubeconfig", metavar="FILE", help="The cluster, for --domain-labels.")
@click.option("--context", metavar="NAME", help="The context of the kubeconfig.")
@click.option(
    "--max-volumes",
    type=click.IntRange(min=0),
    help="How many volumes a node can have at once; 0: no limit.",
)
@click.option(
    "--plugin-registration-dir",
    type=click.Path(file_okay=False),
    help="Where kubelet looks for drivers: register there without a sidecar.",
)
@click.option(
    "--mounts",
    type=click.Choice([kind.value for kind in Mounts]),
    help="How volumes get to pods.  [default: real for root, linked for others]",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    help="Port on 127.0.0.1 for /metrics, /healthz and /readyz; 0 takes a free one."
    "  [default: none]",
)
@click.option("--log-level", type=LEVELS, default="info", show_default=True)
@click.option(
    "--log-format", type=click.Choice([f.value for f in LogFormat]), default=LogFormat.CONSOLE.value
)
def driver(file: Path | None, log_level: str, log_format: str, **flags: Any) -> None:
    """Run one CSI driver on a unix socket, until SIGTERM or SIGINT.

    Prints one line when it answers. Settings come from the file of --settings, then from
    PLIMSOLL_DRIVER_… in the environment, then from these options.
    """
    configure_logging(level=log_level, form=LogFormat(log_format))
    sources = Sources(file=file, environment=environment(), prefix=PREFIX, flags=flags)
    with failures_told(usage=(SetupError,), failures=(LedgerError, EndpointError)):
        settings = load_settings(DriverSettings, sources)
        try:
            uvloop.run(process.run(settings, say))
        except (CsiStatusError, CommandError) as error:
            left = f"what the last run left cannot be settled: {error}"
            raise click.ClickException(left) from error
