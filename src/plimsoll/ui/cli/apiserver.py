"""`plimsoll apiserver`: run the embedded API server, and look after its file."""

import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import uvloop

from plimsoll.apiserver import main as process
from plimsoll.apiserver.admission.chain import parse_disabled
from plimsoll.apiserver.http.certificates import UnreadableKeysError
from plimsoll.apiserver.storage import maintenance
from plimsoll.apiserver.storage.store import StoreCorruptError, StoreFailedError
from plimsoll.runtime.config import parse_duration
from plimsoll.runtime.log import LogFormat, configure_logging
from plimsoll.ui.stdout import say

# Whatever a user can mend gets a sentence, not a traceback.
NO_MAINTENANCE = (StoreCorruptError, StoreFailedError, OSError, sqlite3.Error)
LEVELS = click.Choice(["debug", "info", "warning", "error"])


class Duration(click.ParamType[timedelta]):
    """A length of time that is not zero."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        try:
            duration = parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if not duration:
            self.fail("it must be longer than nothing", param, ctx)
        return duration


@click.group(invoke_without_command=True)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("plimsoll-data"),
    show_default=True,
    help="Where objects, keys and certificates are kept.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=6443,
    show_default=True,
    help="Port on 127.0.0.1; 0 takes a free one.",
)
@click.option(
    "--write-kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a kubeconfig for the administrator here (mode 0600).",
)
@click.option(
    "--history-seconds",
    type=click.FloatRange(min=1),
    default=300,
    show_default=True,
    help="How far back watches can resume.",
)
@click.option(
    "--event-ttl",
    type=Duration(),
    default="1h",
    show_default=True,
    help="How long events are kept after they were last written.",
)
@click.option(
    "--disable-admission-plugins",
    default="",
    metavar="NAMES",
    help="Admission plugins to switch off, by kube-apiserver's names, separated by commas.",
)
@click.option("--log-level", type=LEVELS, default="info", show_default=True)
@click.option(
    "--log-format", type=click.Choice([f.value for f in LogFormat]), default=LogFormat.CONSOLE.value
)
@click.pass_context
def apiserver(  # noqa: PLR0913 one parameter for each option
    ctx: click.Context,
    *,
    data_dir: Path,
    port: int,
    write_kubeconfig: Path | None,
    history_seconds: float,
    event_ttl: timedelta,
    disable_admission_plugins: str,
    log_level: str,
    log_format: str,
) -> None:
    """Serve the Kubernetes API on loopback, durable in one SQLite file.

    Prints one line when it is ready and runs until it gets SIGTERM or SIGINT.
    """
    ctx.obj = data_dir
    if ctx.invoked_subcommand is not None:
        return
    configure_logging(level=log_level, form=LogFormat(log_format))
    try:
        disabled = parse_disabled(disable_admission_plugins)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--disable-admission-plugins") from error
    settings = process.ApiServerSettings(
        data_dir=data_dir,
        port=port,
        write_kubeconfig=write_kubeconfig,
        history=timedelta(seconds=history_seconds),
        event_ttl=event_ttl,
        disabled_admission_plugins=disabled,
    )

    try:
        uvloop.run(process.run(settings, say))
    except (StoreCorruptError, UnreadableKeysError) as error:
        raise click.ClickException(str(error)) from error
    except (OSError, sqlite3.OperationalError) as error:
        raise click.ClickException(
            f"cannot serve on port {port} from {data_dir}: {error}"
        ) from error


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
