"""`plimsoll node`: be a node, or many of them."""

from pathlib import Path
from typing import Any

import click
import uvloop

from plimsoll.processes.node import main as process
from plimsoll.processes.node.settings import PREFIX, NodeProcessSettings
from plimsoll.runtime.config import Sources, environment, load_settings
from plimsoll.runtime.log import LogFormat, configure_logging
from plimsoll.ui.failures import failures_told
from plimsoll.ui.options.log_options import log_options
from plimsoll.ui.options.settings_options import settings_options
from plimsoll.ui.stdout import say


@click.command()
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Settings, YAML.")
@settings_options(NodeProcessSettings)
@log_options
def node(config: Path | None, log_level: str, log_format: str, **flags: Any) -> None:
    """Be a node: register CSI drivers, and bring volumes to pods, until SIGTERM or SIGINT.

    Volumes are real, containers are not: none is run, and pods whose volumes are in place are
    reported as running. What is mounted stays mounted when the process ends; the next one finds
    it. Settings come from the file of --config, then from PLIMSOLL_NODE_… in the environment, then
    from these options.
    """
    configure_logging(level=log_level, form=LogFormat(log_format))
    sources = Sources(file=config, environment=environment(), prefix=PREFIX, flags=flags)
    with failures_told():
        settings = load_settings(NodeProcessSettings, sources)
        uvloop.run(process.run(settings, say))
