"""`plimsoll demo`: the embedded cluster in one command, and something true to look at."""

import click


@click.command()
@click.option("--once", is_flag=True, help="End after the tour instead of waiting for Ctrl-C.")
def demo(*, once: bool) -> None:
    """Start the embedded cluster, put storage objects into it and show them."""
    click.echo(f"not there yet: {once}")
