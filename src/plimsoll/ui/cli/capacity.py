"""`plimsoll capacity`: what drivers have published, and what is wrong with it. Never writes."""

import sys
from collections.abc import Collection, Iterable
from typing import Annotated, Any

import click
import uvloop

from plimsoll.api.meta import ApiObject
from plimsoll.decide.capacity.findings import findings
from plimsoll.decide.capacity.overview import ObservedCapacity, narrowed, overview_of
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.rules.volume_binding.charges import ListedCharge, PoolCharges
from plimsoll.runtime.config import Sources, load_settings
from plimsoll.runtime.flags import Flag
from plimsoll.ui.capacity import output
from plimsoll.ui.capacity.reading import read, read_consumers
from plimsoll.ui.documents import TABLE, written_document
from plimsoll.ui.options.cluster_options import ClusterFlags, cluster_options
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kubeconfig_files import KubeconfigError


class CapacityFlags(ClusterFlags, frozen=True, kw_only=True):
    driver: Annotated[str, Flag("Only what this driver has published.", metavar="NAME")] = ""
    storage_class: Annotated[str, Flag("Only of this class.", name="class", metavar="NAME")] = ""
    tree: Annotated[bool, Flag("As a tree: by region, zone, rack and host.", off=None)] = False
    pools: Annotated[bool, Flag("Instead, the pools that classes share.", off=None)] = False


@click.command()
@cluster_options(CapacityFlags)
def capacity(**given: Any) -> None:
    """Show the capacity that drivers have published, on any cluster; nothing is changed.

    For every segment and class: the size, the largest volume, since when the number stands, who
    published it and when they last looked. Then what is stale, orphaned, overlapping or
    contradictory, each with a code. With --pools, the pools behind the numbers: what is free in
    them, and what volumes of each class take.

    Exit codes: 0 nothing is wrong; 1 something is, or the cluster could not be reached; 2 bad
    usage.
    """
    flags = load_settings(CapacityFlags, Sources(flags=given))
    try:
        client = flags.client("plimsoll-capacity")
        observed = uvloop.run(read(client))
        wanted = flags.pools or flags.output_format != TABLE
        consumers = uvloop.run(read_consumers(flags.client("plimsoll-capacity"))) if wanted else []
    except KubeconfigError as error:
        raise click.UsageError(str(error)) from error
    except KubeError as error:
        raise click.ClickException(flags.told(error)) from error
    everything = overview_of(observed)
    overview = narrowed(everything, driver=flags.driver, storage_class=flags.storage_class)
    reserved = _reserved(
        observed, consumers, {e.capacity.storage_class_name for e in overview.entries}
    )
    shown = {entry.capacity.key for entry in overview.entries}
    found = [each for each in findings(everything) if each.about in shown]
    classes = {"", *(each.name for each in observed.classes)}
    if not overview.entries and flags.storage_class not in classes:
        click.echo(f"remark: there is no class {flags.storage_class}", err=True)
    if flags.output_format == TABLE and flags.pools:
        output.show_pools(overview, reserved)
    elif flags.output_format == TABLE and not overview.entries:
        click.echo(_nothing(flags))
    elif flags.output_format == TABLE:
        output.show(overview, found, as_tree=flags.tree)
    else:
        click.echo(
            written_document(output.document(overview, found, reserved), flags.output_format)
        )
    sys.exit(1 if found else 0)


def _nothing(flags: CapacityFlags) -> str:
    publisher = f" by driver {flags.driver}" if flags.driver else ""
    about = f" for class {flags.storage_class}" if flags.storage_class else ""
    return f"No capacity is published{publisher}{about}."


def _reserved(
    observed: ObservedCapacity, consumers: Iterable[ApiObject], classes: Collection[str]
) -> list[ListedCharge]:
    """For volumes of these classes."""
    objects = (*observed.nodes, *observed.classes, *observed.drivers, *observed.capacities)
    columns = Columns.of((*objects, *consumers))
    columns.reservations.advance(observed.now)
    charges = PoolCharges(columns)
    return [each for each in charges.listed() if each.reservation.storage_class in classes]
