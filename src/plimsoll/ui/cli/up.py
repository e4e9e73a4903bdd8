"""`plimsoll up`: a storage cluster on this machine, with one command and nothing else."""

import asyncio
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import click
import uvloop

from plimsoll.api.quantity import parse_bytes
from plimsoll.runtime.config import ConfigError
from plimsoll.runtime.log import configure_logging
from plimsoll.ui.local_cluster.children import ChildFailedError
from plimsoll.ui.local_cluster.layout import MOST_REAL_NODES, Wanted
from plimsoll.ui.local_cluster.running import LocalCluster, local_cluster
from plimsoll.wire.errors import KubeError

LEVELS = click.Choice(["debug", "info", "warning", "error"])
MOST_NODES = 5000


def _size(ctx: click.Context, param: click.Parameter, value: str) -> str:
    try:
        parse_bytes(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx=ctx, param=param) from error
    return value


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("plimsoll-data"),
    show_default=True,
    help="Where everything is kept; the next start goes on from there.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Of the API; by default a free one."
)
@click.option("--nodes", type=click.IntRange(1, MOST_NODES), default=3, show_default=True)
@click.option(
    "--hollow/--real",
    default=None,
    help="Nodes that mount nothing, all in one process, or real ones."
    f"  [default: hollow from {MOST_REAL_NODES + 1} nodes on]",
)
@click.option(
    "--disk-size",
    default="10Gi",
    show_default=True,
    metavar="SIZE",
    callback=_size,
    help="Of each of the two disks of a node.",
)
@click.option(
    "--memory",
    default="1Gi",
    show_default=True,
    metavar="SIZE",
    callback=_size,
    help="For volumes in memory, on each node.",
)
@click.option("--log-level", type=LEVELS, default="warning", show_default=True)
def up(  # noqa: PLR0913 - one parameter for each option
    *,
    data_dir: Path,
    port: int,
    nodes: int,
    hollow: bool | None,
    disk_size: str,
    memory: str,
    log_level: str,
) -> None:
    """Run API server, controller, scheduler, drivers, provisioners and nodes, until Ctrl-C.

    Real nodes mount real volumes under the data directory, which needs root; without it volumes
    are directories. No containers are run: pods get their volumes and are reported as running.
    """
    configure_logging(level=log_level)
    wanted = Wanted(
        data_dir=data_dir.absolute(),
        port=port,
        nodes=nodes,
        hollow=nodes > MOST_REAL_NODES if hollow is None else hollow,
        disk_size=disk_size,
        memory=memory,
        log_level=log_level,
    )
    try:
        uvloop.run(_run(wanted))
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    except (ChildFailedError, KubeError, OSError) as error:
        raise click.ClickException(str(error)) from error


async def _run(wanted: Wanted) -> None:
    asked = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    begun = asyncio.get_running_loop().time()
    is_root = os.geteuid() == 0
    starting = asyncio.ensure_future(asked.wait())
    async with local_cluster(wanted, _show, is_root=is_root) as cluster:
        _tell(cluster, timedelta(seconds=asyncio.get_running_loop().time() - begun), is_root)
        await starting
        click.echo("stopping", err=True)


def _show(child: str, line: str) -> None:
    click.echo(f"{child}: {line}", err=True)


def _tell(cluster: LocalCluster, took: timedelta, is_root: bool) -> None:  # noqa: FBT001
    wanted = cluster.wanted
    what = "hollow nodes, which mount nothing" if wanted.hollow else "nodes"
    lines = [
        f"plimsoll is up after {took.total_seconds():.1f} s: {wanted.nodes} {what}, in three zones",
        f"  export KUBECONFIG={wanted.kubeconfig}",
        "  classes: kubectl get storageclasses; room: plimsoll capacity",
    ]
    if not wanted.hollow:
        lines.append(f"  volumes of pods are under {wanted.data_dir / 'nodes'}")
    if not is_root and not wanted.hollow:
        lines.append("  not root: volumes are directories; no block, memory or mirrored volumes")
    click.echo("\n".join(lines))
    sys.stdout.flush()
