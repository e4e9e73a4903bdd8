"""Options that `plimsoll up` has, and passes on to the processes that it starts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from plimsoll.decide.repair.repairs import RepairRule
from plimsoll.ui.local_cluster.kept_settings import MOST_NODES

Command = TypeVar("Command", bound=Callable[..., Any])

DATA_DIR = Path("plimsoll-data")


def place_options(command: Command) -> Command:
    """Which cluster: gives a command `data_dir` and `nodes`."""
    for option in (
        click.option(
            "--nodes",
            type=click.IntRange(1, MOST_NODES),
            help="How many there are.  [default: as the directory keeps it]",
        ),
        click.option(
            "--data-dir",
            type=click.Path(path_type=Path, file_okay=False),
            default=DATA_DIR,
            show_default=True,
            help="The directory of the cluster.",
        ),
    ):
        command = option(command)
    return command


def controller_options(command: Command) -> Command:
    """What the controller is told: `csi_addresses`, `repair` and `repair_dry_run`."""
    rules = ", ".join(RepairRule)
    for option in (
        click.option(
            "--repair-dry-run", is_flag=True, help="Only tell by events what would be repaired."
        ),
        click.option(
            "--repair",
            metavar="RULE,…",
            default="",
            help=f"Repair rules of the controller, separated by commas: {rules}.  [default: none]",
        ),
        click.option(
            "--csi-address",
            "csi_addresses",
            multiple=True,
            metavar="SOCKET",
            help="The socket of a CSI driver of your own, for the controller; may be repeated.",
        ),
    ):
        command = option(command)
    return command
