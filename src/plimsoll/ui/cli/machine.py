"""`plimsoll machine`: one of the two processes of `plimsoll up`."""

from dataclasses import replace
from pathlib import Path

import click
import uvloop

from plimsoll.processes.driver.ledger import LedgerError
from plimsoll.processes.driver.settings import SetupError
from plimsoll.runtime.commands import CommandError
from plimsoll.runtime.log import configure_logging
from plimsoll.ui.failures import failures_told
from plimsoll.ui.local_cluster import machine as process
from plimsoll.ui.local_cluster.assembled import kept_options
from plimsoll.ui.options.log_options import LEVELS
from plimsoll.ui.options.up_options import place_options
from plimsoll.ui.stdout import say
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.server import EndpointError


@click.command()
@place_options
@click.option("--log-level", type=LEVELS, default="warning", show_default=True)
def machine(*, data_dir: Path, nodes: int | None, log_level: str) -> None:
    """Run drivers and nodes of plimsoll up in one process: what mounts and formats.

    plimsoll up starts it, and keeps it up. Prints one line with the address of each part when it is
    ready, and runs until SIGTERM or SIGINT. What is mounted stays mounted.
    """
    configure_logging(level=log_level)
    with failures_told(usage=(SetupError,), failures=(LedgerError, EndpointError)):
        before = kept_options(data_dir.absolute())
        try:
            uvloop.run(process.run(replace(before, nodes=nodes or before.nodes), say))
        except (CsiStatusError, CommandError) as error:
            left = f"what the last run left cannot be settled: {error}"
            raise click.ClickException(left) from error
