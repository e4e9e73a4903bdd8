"""`plimsoll capacity`: what drivers have published, and what is wrong with it. Never writes."""

import sys

import click
import uvloop

from plimsoll.decide.capacity.findings import findings
from plimsoll.decide.capacity.overview import narrowed, overview_of
from plimsoll.ui.capacity import output
from plimsoll.ui.capacity.reading import read
from plimsoll.ui.documents import TABLE, output_option, written_document
from plimsoll.ui.options.cluster_options import ClusterFlags, cluster_options
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kubeconfig_files import KubeconfigError


@click.command()
@cluster_options
@click.option("--driver", default="", metavar="NAME", help="Only what this driver has published.")
@click.option("--class", "storage_class", default="", metavar="NAME", help="Only of this class.")
@click.option("--tree", is_flag=True, help="As a tree: by region, zone, rack and host.")
@output_option
def capacity(
    *, kubeconfig: str, context: str, tree: bool, output_format: str, **about: str
) -> None:
    """Show the room that drivers have published, on any cluster; nothing is changed.

    For every segment and class: the size, the largest volume, since when the number stands, who
    published it and when they last looked. Then what is stale, orphaned, overlapping or
    contradictory, each with a code.

    Exit codes: 0 nothing is wrong; 1 something is, or the cluster could not be reached; 2 bad
    usage.
    """
    try:
        client = ClusterFlags(kubeconfig=kubeconfig, context=context).client("plimsoll-capacity")
        observed = uvloop.run(read(client))
    except KubeconfigError as error:
        raise click.UsageError(str(error)) from error
    except KubeError as error:
        raise click.ClickException(str(error)) from error
    everything = overview_of(observed)
    overview = narrowed(everything, **about)
    shown = {entry.capacity.key for entry in overview.entries}
    found = [each for each in findings(everything) if each.about in shown]
    if output_format == TABLE:
        output.show(overview, found, as_tree=tree)
    else:
        click.echo(written_document(output.document(overview, found), output_format))
    sys.exit(1 if found else 0)
