"""The `plimsoll` command. Commands are loaded when they are called for: starting stays quick."""

import gc
import importlib
import os
import signal
import sys

import click

from plimsoll.runtime.forks import leave_forks_alone

COMMANDS = {
    "apiserver": "plimsoll.ui.cli.apiserver:apiserver",
    "capacity": "plimsoll.ui.cli.capacity:capacity",
    "ceph": "plimsoll.ui.ceph.command:ceph",
    "control-plane": "plimsoll.ui.cli.control_plane:control_plane",
    "controller": "plimsoll.ui.cli.controller:controller",
    "demo": "plimsoll.ui.cli.demo:demo",
    "driver": "plimsoll.ui.cli.driver:driver",
    "explain": "plimsoll.ui.cli.explain:explain",
    "machine": "plimsoll.ui.cli.machine:machine",
    "node": "plimsoll.ui.cli.node:node",
    "provisioner": "plimsoll.ui.cli.provisioner:provisioner",
    "scheduler": "plimsoll.ui.cli.scheduler:scheduler",
    "simulate": "plimsoll.ui.cli.simulate:simulate",
    "status": "plimsoll.ui.running_cluster.status:status",
    "stop": "plimsoll.ui.running_cluster.stop:stop",
    "up": "plimsoll.ui.cli.up:up",
    "upgrade-zonal": "plimsoll.ui.cli.upgrade_zonal:upgrade_zonal",
}

INTERRUPTED = 128 + signal.SIGINT


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        try:
            command: click.Command = getattr(importlib.import_module(module), name)
        except KeyboardInterrupt:  # loading takes most of the first second
            sys.exit(INTERRUPTED)
        _collect_from_now_on()
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="plimsoll", prog_name="plimsoll")
def cli() -> None:
    """Volume scheduling for Kubernetes that knows topology and capacity.

    Exit codes: 0 done, 1 no or found something, 2 bad usage.
    """


def main() -> None:
    leave_forks_alone()
    # Until the command is loaded: what is loaded stays, and each search for garbage would look at
    # all of it again, which takes as long as some hundred modules.
    gc.disable()
    try:
        cli(prog_name="plimsoll")
    finally:
        _give_up_unread_output()


def _collect_from_now_on() -> None:
    """Search for garbage, but not among what was loaded; a test's own search is left as it is."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _give_up_unread_output() -> None:
    """What is left for a reader that has gone away must not change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
