"""`plimsoll apiserver`: run the embedded API server, and look after its file."""

import sqlite3
from pathlib import Path
from typing import Any

import click
import uvloop

from plimsoll.apiserver import main as process
from plimsoll.apiserver.flags import ApiServerFlags
from plimsoll.apiserver.http.certificates import UnreadableKeysError
from plimsoll.apiserver.storage import maintenance
from plimsoll.apiserver.storage.store import StoreCorruptError, StoreFailedError
from plimsoll.runtime.config import Sources, load_settings
from plimsoll.runtime.log import LogFormat, configure_logging
from plimsoll.ui.failures import told
from plimsoll.ui.options.log_options import log_options
from plimsoll.ui.options.settings_options import OptionDefaults, settings_options
from plimsoll.ui.stdout import say

# What a user can mend gets a sentence, not a traceback.
NO_MAINTENANCE = (StoreCorruptError, StoreFailedError, OSError, sqlite3.Error)


@click.group(invoke_without_command=True)
@settings_options(ApiServerFlags, defaults=OptionDefaults.FINAL)
@log_options
@click.pass_context
def apiserver(ctx: click.Context, /, *, log_level: str, log_format: str, **given: Any) -> None:
    """Serve the Kubernetes API on loopback, durable in one SQLite file.

    Prints one line when it is ready and runs until it gets SIGTERM or SIGINT.
    """
    flags = load_settings(ApiServerFlags, Sources(flags=given))
    ctx.obj = Path(flags.data_dir)
    if ctx.invoked_subcommand is not None:
        return
    configure_logging(level=log_level, form=LogFormat(log_format))
    try:
        settings = flags.settings()
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    try:
        uvloop.run(process.run(settings, say))
    except (StoreCorruptError, UnreadableKeysError) as error:
        raise click.ClickException(str(error)) from error
    except sqlite3.OperationalError as error:
        where = f"on port {flags.port} from {flags.data_dir}"
        raise click.ClickException(f"cannot serve {where}: {error}") from error
    except OSError as error:
        raise click.ClickException(told(error)) from error


@apiserver.command()
@click.pass_obj
def check(data_dir: Path) -> None:
    """Read the whole file and say whether it can be trusted (exit code 1 when not)."""
    try:
        report = maintenance.check(data_dir)
    except NO_MAINTENANCE as error:
        raise click.ClickException(str(error)) from error
    for line in report.lines():
        click.echo(line)


@apiserver.command()
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
@click.pass_obj
def backup(data_dir: Path, target: Path) -> None:
    """Write a consistent copy of the file to TARGET. The server must not be running."""
    try:
        maintenance.backup(data_dir, target)
    except NO_MAINTENANCE as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"written {target}")


@apiserver.command()
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.pass_obj
def restore(data_dir: Path, source: Path) -> None:
    """Put the backup SOURCE in place of the file. The server must not be running.

    The old file is kept beside it. Watches of clients that saw a later state start again.
    """
    try:
        kept = maintenance.restore(data_dir, source)
    except NO_MAINTENANCE as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"restored from {source}" + (f"; the old file is {kept}" if kept else ""))
