"""`plimsoll control-plane`: one of the two processes of `plimsoll up`."""

import os
import sqlite3
from dataclasses import replace
from typing import Any

import click
import uvloop

from plimsoll.apiserver.http.certificates import UnreadableKeysError
from plimsoll.apiserver.storage.store import StoreCorruptError
from plimsoll.processes.controller.in_process.provisioners.registry import ProvisionerSetupError
from plimsoll.runtime.config import Sources, load_settings
from plimsoll.runtime.log import configure_logging
from plimsoll.ui.failures import failures_told
from plimsoll.ui.local_cluster import control_plane as process
from plimsoll.ui.local_cluster.assembled import kept_options
from plimsoll.ui.options.settings_options import OptionDefaults, settings_options
from plimsoll.ui.options.up_options import ControlPlaneFlags
from plimsoll.ui.stdout import say


@click.command("control-plane")
@settings_options(ControlPlaneFlags, defaults=OptionDefaults.FINAL)
def control_plane(**given: Any) -> None:
    """Run API server, controller, scheduler and provisioners of plimsoll up in one process.

    plimsoll up starts it, and keeps it up. Prints one line with the address of each part when it is
    ready, and runs until SIGTERM or SIGINT.
    """
    flags = load_settings(ControlPlaneFlags, Sources(flags=given))
    configure_logging(level=flags.log_level)
    broken = (StoreCorruptError, UnreadableKeysError, sqlite3.OperationalError)
    with failures_told(usage=(ProvisionerSetupError,), failures=broken):
        before = kept_options(flags.directory)
        nodes = flags.nodes or before.nodes
        wanted = replace(before, nodes=nodes, control=flags.control)
        uvloop.run(process.run(before, wanted, say, is_root=os.geteuid() == 0))
