"""`plimsoll driver`: one CSI driver on a unix socket."""

from pathlib import Path
from typing import Any

import click
import uvloop

from plimsoll.processes.driver import main as process
from plimsoll.processes.driver.configuration import PREFIX, DriverSettings
from plimsoll.processes.driver.ledger import LedgerError
from plimsoll.processes.driver.settings import SetupError
from plimsoll.runtime.commands import CommandError
from plimsoll.runtime.config import Sources, environment, load_settings
from plimsoll.runtime.log import LogFormat, configure_logging
from plimsoll.ui.failures import failures_told
from plimsoll.ui.options.log_options import log_options
from plimsoll.ui.options.settings_options import settings_options
from plimsoll.ui.stdout import say
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.server import EndpointError


@click.command()
@click.option(
    "--settings",
    "--config",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="All of this as a YAML file; several nodes at once are under nodes.",
)
@settings_options(DriverSettings)
@log_options
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
