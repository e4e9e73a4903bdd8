"""`plimsoll control-plane`: one of the two processes of `plimsoll up`."""

import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import click
import uvloop

from plimsoll.apiserver.http.certificates import UnreadableKeysError
from plimsoll.apiserver.storage.store import StoreCorruptError
from plimsoll.processes.controller.in_process.provisioners.registry import ProvisionerSetupError
from plimsoll.runtime.log import configure_logging
from plimsoll.ui.failures import failures_told
from plimsoll.ui.local_cluster import control_plane as process
from plimsoll.ui.local_cluster.assembled import kept_options
from plimsoll.ui.options.log_options import LEVELS
from plimsoll.ui.options.up_options import controller_options, place_options
from plimsoll.ui.stdout import say


@click.command("control-plane")
@place_options
@controller_options
@click.option("--log-level", type=LEVELS, default="warning", show_default=True)
def control_plane(  # noqa: PLR0913 - one for each option
    *,
    data_dir: Path,
    nodes: int | None,
    csi_addresses: tuple[str, ...],
    repair: str,
    repair_dry_run: bool,
    log_level: str,
) -> None:
    """Run API server, controller, scheduler and provisioners of plimsoll up in one process.

    plimsoll up starts it, and keeps it up. Prints one line with the address of each part when it is
    ready, and runs until SIGTERM or SIGINT.
    """
    configure_logging(level=log_level)
    broken = (StoreCorruptError, UnreadableKeysError, sqlite3.OperationalError)
    with failures_told(usage=(ProvisionerSetupError,), failures=broken):
        before = kept_options(data_dir.absolute())
        wanted = replace(
            before,
            nodes=nodes or before.nodes,
            csi_addresses=csi_addresses,
            repair=repair,
            repair_dry_run=repair_dry_run,
        )
        uvloop.run(process.run(before, wanted, say, is_root=os.geteuid() == 0))
