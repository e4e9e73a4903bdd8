"""`plimsoll machine`: one of the two processes of `plimsoll up`."""

from dataclasses import replace
from typing import Any

import click
import uvloop

from plimsoll.processes.driver.ledger import LedgerError
from plimsoll.processes.driver.settings import SetupError
from plimsoll.runtime.commands import CommandError
from plimsoll.runtime.config import Sources, load_settings
from plimsoll.runtime.log import configure_logging
from plimsoll.ui.failures import failures_told
from plimsoll.ui.local_cluster import machine as process
from plimsoll.ui.local_cluster.assembled import kept_options
from plimsoll.ui.options.settings_options import OptionDefaults, settings_options
from plimsoll.ui.options.up_options import MachineFlags
from plimsoll.ui.stdout import say
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.server import EndpointError


@click.command()
@settings_options(MachineFlags, defaults=OptionDefaults.FINAL)
def machine(**given: Any) -> None:
    """Run drivers and nodes of plimsoll up in one process: what mounts and formats.

    plimsoll up starts it, and keeps it up. Prints one line with the address of each part when it is
    ready, and runs until SIGTERM or SIGINT. What is mounted stays mounted.
    """
    flags = load_settings(MachineFlags, Sources(flags=given))
    configure_logging(level=flags.log_level)
    with failures_told(usage=(SetupError,), failures=(LedgerError, EndpointError)):
        before = kept_options(flags.directory)
        try:
            uvloop.run(process.run(replace(before, nodes=flags.nodes or before.nodes), say))
        except (CsiStatusError, CommandError) as error:
            left = f"what the last run left cannot be settled: {error}"
            raise click.ClickException(left) from error
