"""`plimsoll scheduler`: put pods on nodes."""

from pathlib import Path
from typing import Any

import click
import uvloop

from plimsoll.processes.scheduler import main as process
from plimsoll.processes.scheduler.settings import SchedulerSettings, load
from plimsoll.runtime.config import environment
from plimsoll.runtime.log import LogFormat, configure_logging
from plimsoll.ui.failures import failures_told
from plimsoll.ui.options.log_options import log_options
from plimsoll.ui.options.settings_options import settings_options
from plimsoll.ui.stdout import say


@click.command()
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Settings, YAML: our own, or a KubeSchedulerConfiguration.",
)
@settings_options(SchedulerSettings)
@log_options
def scheduler(config: Path | None, log_level: str, log_format: str, **flags: Any) -> None:
    """Put pods on nodes, volumes first, until SIGTERM or SIGINT.

    Prints one line when it begins. Settings come from the file of --config, then from
    PLIMSOLL_SCHEDULER_… in the environment, then from these options.
    """
    configure_logging(level=log_level, form=LogFormat(log_format))
    with failures_told():
        settings = load(config, environment(), flags)
        uvloop.run(process.run(settings, say))
