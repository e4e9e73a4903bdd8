"""`plimsoll up`: a storage cluster on this machine, with one command and nothing else."""

import asyncio
import contextlib
import os
import signal
import sys
from datetime import timedelta
from typing import Any

import click
import uvloop
from msgspec.structs import fields

from plimsoll.decide.repair.repairs import RepairRule
from plimsoll.processes.driver.ledger import LedgerError
from plimsoll.runtime.config import ConfigError, Sources, load_settings
from plimsoll.runtime.log import configure_logging
from plimsoll.ui.failures import told
from plimsoll.ui.local_cluster import addresses
from plimsoll.ui.local_cluster.children import ChildFailedError
from plimsoll.ui.local_cluster.directory_lock import DirectoryInUseError
from plimsoll.ui.local_cluster.kept_settings import ClusterSettings
from plimsoll.ui.local_cluster.running import (
    ClusterRequest,
    LocalCluster,
    StartReports,
    local_cluster,
)
from plimsoll.ui.options.settings_options import OptionDefaults, settings_options
from plimsoll.ui.options.up_options import UpFlags
from plimsoll.wire.errors import KubeError

BY_SIGNAL = 128
"""Shells report a command that a signal ended with this, and the number of the signal."""


@click.command()
@settings_options(UpFlags, defaults=OptionDefaults.FINAL)
@settings_options(ClusterSettings)
def up(**given: Any) -> None:
    """Run API server, controller, scheduler, drivers, provisioners and nodes, until Ctrl-C.

    Real nodes mount real volumes under the data directory, which needs root; without it volumes
    are directories. No containers are run: pods get their volumes and are reported as running.

    Two processes do all of it: the control plane, and the machine side with drivers and nodes. With
    --separate each part is a process. The directory can be used in either way, from start to start.

    The directory keeps port, nodes, kind of nodes and sizes: an option that is not given stays as
    it was. One directory has one cluster: a second start says which process has it.

    Exit codes: 0 stopped after it was up, 130 or 143 stopped (SIGINT or SIGTERM) before that, 1
    it could not start, 2 bad usage.
    """
    own = {field.name for field in fields(UpFlags)}
    flags = load_settings(UpFlags, Sources(flags={k: given[k] for k in given if k in own}))
    _check_repair_rules(flags.repair)
    configure_logging(level=flags.log_level)
    request = ClusterRequest(
        data_dir=flags.directory,
        settings={k: given[k] for k in given if k not in own},
        log_level=flags.log_level,
        control=flags.control,
        restart_unresponsive=flags.restart_unresponsive,
        separate=flags.separate,
    )
    try:
        code = uvloop.run(_until_stopped(request))
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    except (ChildFailedError, DirectoryInUseError, LedgerError, KubeError) as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(told(error)) from error
    except KeyboardInterrupt:  # before the signals are ours
        code = BY_SIGNAL + signal.SIGINT
    sys.exit(code)


def _check_repair_rules(repair: str) -> None:
    """Before anything is started or written."""
    names = filter(None, (name.strip() for name in repair.split(",")))
    if unknown := [name for name in names if name not in list(RepairRule)]:
        known = ", ".join(RepairRule)
        raise click.UsageError(f"--repair: unknown {', '.join(unknown)}; known: {known}")


async def _until_stopped(request: ClusterRequest) -> int:
    """The exit code. A signal at any moment stops what was started until then."""
    asked: asyncio.Future[signal.Signals] = asyncio.get_running_loop().create_future()
    is_up = asyncio.Event()

    def ask(number: signal.Signals) -> None:
        if not asked.done():
            _remark("stopping")
            asked.set_result(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ask, number)
    running = asyncio.ensure_future(_run(request, is_up))
    await asyncio.wait((running, asked), return_when=asyncio.FIRST_COMPLETED)
    was_up = is_up.is_set()
    running.cancel()
    try:
        await running
    except asyncio.CancelledError:
        return 0 if was_up else BY_SIGNAL + asked.result()
    return 0


async def _run(request: ClusterRequest, is_up: asyncio.Event) -> None:
    """Until cancelled."""
    begun = asyncio.get_running_loop().time()
    is_root = os.geteuid() == 0
    reports = StartReports(on_line=_show, on_change=_announce)
    async with local_cluster(request, reports, is_root=is_root) as cluster:
        is_up.set()
        _tell(cluster, timedelta(seconds=asyncio.get_running_loop().time() - begun), is_root)
        await asyncio.Event().wait()


def _show(child: str, line: str) -> None:
    _remark(f"{child}: {line}")


def _announce(change: str) -> None:
    _remark(f"changed: {change}")


def _remark(text: str) -> None:
    """The cluster goes on, and can be stopped, after the reader of its output has left."""
    with contextlib.suppress(OSError):
        click.echo(text, err=True)


def _tell(cluster: LocalCluster, took: timedelta, is_root: bool) -> None:  # noqa: FBT001
    wanted = cluster.wanted
    lines = [
        f"plimsoll is up after {took.total_seconds():.1f} s: {wanted.summary}",
        f"  export KUBECONFIG={wanted.kubeconfig}",
        "  classes: kubectl get storageclasses; room: plimsoll capacity",
    ]
    if not wanted.hollow:
        lines.append(f"  volumes of pods are under {wanted.data_dir / 'nodes'}")
    if not is_root and not wanted.hollow:
        lines.append("  not root: volumes are directories; no block, memory or mirrored volumes")
    lines.append(f"  addresses, kept in {wanted.data_dir / addresses.FILE_NAME} with the sockets:")
    processes = addresses.of_processes(cluster.children.values())
    lines += [f"    {line}" for line in addresses.table(processes)]
    click.echo("\n".join(lines))
    sys.stdout.flush()
