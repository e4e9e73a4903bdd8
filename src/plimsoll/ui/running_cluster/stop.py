"""`plimsoll stop`: ends the `plimsoll up` of a directory, as Ctrl-C in its terminal does."""

from datetime import timedelta
from typing import Any

import click

from plimsoll.runtime.config import Sources, load_settings
from plimsoll.ui.options.settings_options import OptionDefaults, settings_options
from plimsoll.ui.running_cluster.flags import DirectoryFlags
from plimsoll.ui.running_cluster.up_command import found_up_command

ENDS_WITHIN = timedelta(seconds=90)
"""Each process has some seconds to end what it is doing before it is killed."""


@click.command()
@settings_options(DirectoryFlags, defaults=OptionDefaults.FINAL)
def stop(**given: Any) -> None:
    """Stop the cluster of plimsoll up that has this directory, and wait until it has ended.

    Objects, volumes and mounts stay: plimsoll up on the same directory goes on from there.

    Exit codes: 0 stopped; 1 no cluster runs there, or it does not end; 2 bad usage.
    """
    directory = load_settings(DirectoryFlags, Sources(flags=given)).directory
    with found_up_command(directory) as command:
        if command is None:
            raise click.ClickException(f"{directory}: no plimsoll up runs here")
        try:
            command.ask_to_stop()
        except PermissionError as error:
            told = f"{directory}: pid {command.pid} belongs to another user; stop it as that user"
            raise click.ClickException(told) from error
        if not command.has_ended_within(ENDS_WITHIN):
            seconds = ENDS_WITHIN.total_seconds()
            told = f"{directory}: pid {command.pid} has not ended after {seconds:.0f} s; end it"
            raise click.ClickException(told)
    click.echo(f"stopped; plimsoll up --data-dir {directory} goes on from here")
