"""`plimsoll controller`: run the control loops around claims and volumes."""

from pathlib import Path
from typing import Any

import click
import uvloop

from plimsoll.processes.controller import main as process
from plimsoll.processes.controller.in_process.provisioners.registry import ProvisionerSetupError
from plimsoll.processes.controller.loops import LOOPS
from plimsoll.processes.controller.settings import PREFIX, ControllerSettings
from plimsoll.runtime.config import Sources, environment, load_settings
from plimsoll.runtime.log import LogFormat, configure_logging
from plimsoll.ui.failures import failures_told
from plimsoll.ui.options.log_options import log_options
from plimsoll.ui.options.settings_options import settings_options
from plimsoll.ui.stdout import say


def _loops_help() -> str:
    width = max(map(len, LOOPS))
    rows = (f"{name:<{width}}  {entry.about}" for name, entry in LOOPS.items())
    return "\n".join(["\b", "Loops:", *(f"  {row}" for row in rows)])


@click.command(
    epilog=_loops_help()
    + "\n\nAll but repair, rollback and takeover run by default on the embedded server, where no"
    + " kube-controller-manager does their work. On a real cluster only those do that work with a"
    + " driver of --csi-address: name the others that no other program runs there."
)
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Settings, YAML.")
@settings_options(ControllerSettings)
@log_options
def controller(config: Path | None, log_level: str, log_format: str, **flags: Any) -> None:
    """Run the control loops around claims and volumes, until SIGTERM or SIGINT.

    Prints one line when the loops start. Settings come from the file of --config, then from
    PLIMSOLL_CONTROLLER_… in the environment, then from these options.
    """
    configure_logging(level=log_level, form=LogFormat(log_format))
    sources = Sources(file=config, environment=environment(), prefix=PREFIX, flags=flags)
    with failures_told(usage=(ProvisionerSetupError,)):
        settings = load_settings(ControllerSettings, sources)
        uvloop.run(process.run(settings, say))
