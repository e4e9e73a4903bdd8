"""`plimsoll capacity`: what drivers have published, and what is wrong with it. Never writes."""

import json
import sys

import click
import uvloop
import yaml

from plimsoll.api.registry import Document
from plimsoll.decide.capacity.findings import findings
from plimsoll.decide.capacity.overview import narrowed, overview_of
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.config import environment
from plimsoll.runtime.ids import system_chance
from plimsoll.ui.capacity import output
from plimsoll.ui.capacity.reading import read
from plimsoll.wire.connect import connect
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment
from plimsoll.wire.kubeconfig_files import KubeconfigError

FORMATS = click.Choice(["table", "json", "yaml"])


@click.command()
@click.option(
    "--kubeconfig", default="", metavar="FILE", help="Which cluster; default: as kubectl."
)
@click.option("--context", "context_name", default="", metavar="NAME", help="Of the kubeconfig.")
@click.option("--driver", default="", metavar="NAME", help="Only what this driver has published.")
@click.option("--class", "storage_class", default="", metavar="NAME", help="Only of this class.")
@click.option("--tree", is_flag=True, help="As a tree: by region, zone, rack and host.")
@click.option("-o", "output_format", type=FORMATS, default="table", show_default=True)
def capacity(
    *, kubeconfig: str, context_name: str, tree: bool, output_format: str, **about: str
) -> None:
    """Show the room that drivers have published, on any cluster; nothing is changed.

    For every segment and class: the size, the largest volume, since when the number stands, who
    published it and when they last looked. Then what is stale, orphaned, overlapping or
    contradictory, each with a code.

    Exit codes: 0 nothing is wrong; 1 something is, or the cluster could not be reached; 2 bad
    usage.
    """
    wish = ConnectionOptions(kubeconfig=kubeconfig, context=context_name)
    around = KubeconfigEnvironment(environment=environment(), clock=SystemClock())
    try:
        client = connect(wish, around, system_chance(), manager="plimsoll-capacity")
        observed = uvloop.run(read(client))
    except KubeconfigError as error:
        raise click.UsageError(str(error)) from error
    except KubeError as error:
        raise click.ClickException(str(error)) from error
    everything = overview_of(observed)
    overview = narrowed(everything, **about)
    shown = {entry.capacity.key for entry in overview.entries}
    found = [each for each in findings(everything) if each.about in shown]
    if output_format == "table":
        output.show(overview, found, as_tree=tree)
    else:
        click.echo(_written(output.document(overview, found), output_format))
    sys.exit(1 if found else 0)


def _written(document: Document, output_format: str) -> str:
    if output_format == "json":
        return json.dumps(document, indent=2)
    return yaml.safe_dump(document, sort_keys=False).rstrip()
