"""Lines for people and programs that wait for them: written at once, also into a pipe."""

import sys

import click


def say(line: str) -> None:
    click.echo(line)
    sys.stdout.flush()
