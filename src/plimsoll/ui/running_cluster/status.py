"""`plimsoll status`: whether the cluster of a directory runs, and whether its parts answer."""

import asyncio
import ssl
import sys
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from plimsoll.runtime.config import Sources, load_settings
from plimsoll.ui.documents import TABLE, written_document
from plimsoll.ui.explain.layout import table
from plimsoll.ui.local_cluster import addresses
from plimsoll.ui.options.settings_options import OptionDefaults, settings_options
from plimsoll.ui.running_cluster.flags import StatusFlags
from plimsoll.ui.running_cluster.up_command import found_up_command
from plimsoll.wire.probe import is_answered

ANSWERS_WITHIN = timedelta(seconds=10)
UNIX = "unix://"


@dataclass(frozen=True, slots=True)
class PartStatus:
    name: str
    address: str
    answers: bool


@click.command()
@settings_options(StatusFlags, defaults=OptionDefaults.FINAL)
def status(**given: Any) -> None:
    """Tell whether plimsoll up runs on this directory, and which of its parts answer.

    Exit codes: 0 it runs and every part answers; 1 not so; 2 bad usage.
    """
    flags = load_settings(StatusFlags, Sources(flags=given))
    directory = flags.directory
    with found_up_command(directory) as command:
        if command is None:
            raise click.ClickException(f"{directory}: no plimsoll up runs here")
        parts = asyncio.run(_parts(directory))
        pid = command.pid
    if flags.output_format == TABLE:
        click.echo(_text(directory, pid, parts))
    else:
        click.echo(written_document(_document(directory, pid, parts), flags.output_format))
    sys.exit(0 if parts and all(part.answers for part in parts) else 1)


async def _parts(directory: Path) -> list[PartStatus]:
    """In the order of the file `addresses`; none as long as the cluster is coming up."""
    try:
        rows = addresses.read(directory)
    except OSError:
        return []
    answers = await asyncio.gather(*(_answers(directory, address) for _, address in rows))
    return [PartStatus(*row, is_so) for row, is_so in zip(rows, answers, strict=True)]


async def _answers(directory: Path, address: str) -> bool:
    if address.startswith(UNIX):
        return await _listens(address.removeprefix(UNIX))
    authority = directory / "apiserver" / "pki" / "ca.crt"
    health = address.removesuffix("/metrics") + "/healthz"
    try:
        trust = ssl.create_default_context(cafile=authority) if "https:" in address else None
    except OSError:
        return False
    return await is_answered(health, ANSWERS_WITHIN, trust)


async def _listens(socket: str) -> bool:
    try:
        async with asyncio.timeout(ANSWERS_WITHIN.total_seconds()):
            _, writer = await asyncio.open_unix_connection(socket)
    except OSError:  # TimeoutError is one
        return False
    writer.close()
    return True


def _text(directory: Path, pid: int, parts: list[PartStatus]) -> str:
    rows = [(each.name, "yes" if each.answers else "no", each.address) for each in parts]
    running = f"plimsoll up runs on {directory}, pid {pid}"
    if not parts:
        return f"{running}; it is coming up for the first time."
    silent = sum(not each.answers for each in parts)
    verdict = f"{silent} of its parts do not answer" if silent else "all of its parts answer"
    return f"{running}; {verdict}.\n\n{table(('PART', 'ANSWERS', 'ADDRESS'), rows)}"


def _document(directory: Path, pid: int, parts: list[PartStatus]) -> dict[str, Any]:
    return {
        "apiVersion": "status.plimsoll.dev/v1",
        "kind": "LocalClusterStatus",
        "directory": str(directory),
        "pid": pid,
        "kubeconfig": str(directory / "kubeconfig"),
        "parts": [asdict(each) for each in parts],
    }
