"""`plimsoll ceph`: what an administrator prepares on a Ceph cluster."""

import asyncio
from typing import Annotated, Any

import click
from msgspec import Meta

from plimsoll.decide.ceph.making_pools.requested import PoolsRequest
from plimsoll.decide.ceph.making_pools.steps import PoolsPlan, PoolsRefused
from plimsoll.processes.driver.backends.ceph.shared_options import access_of
from plimsoll.processes.driver.backends.rbd.options import RbdOptions
from plimsoll.processes.driver.settings import SetupError
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.commands import CommandError
from plimsoll.runtime.config import ConfigError, Settings, Sources, load_settings
from plimsoll.runtime.flags import Flag, PathKind, gather_all
from plimsoll.ui.ceph.pool_making import PoolMaking, class_document
from plimsoll.ui.documents import YAML, written_document
from plimsoll.ui.options.settings_options import OptionDefaults, settings_options
from plimsoll.wire.ceph.connection import CephConnection
from plimsoll.wire.ceph.errors import CephError, NoCephError

IMAGES, JOURNAL = "rbd-", "journal"


class MakePoolsFlags(Settings, frozen=True, kw_only=True):
    monitors: Annotated[
        str, Flag("Addresses of the monitors, separated by commas.", metavar="ADDRESS,…")
    ] = ""
    user: Annotated[
        str, Flag("Whom to connect as, without client.; needs the rights of an administrator.")
    ] = "admin"
    key_file: Annotated[
        str, Flag("A file that holds the key of that user.", path=PathKind.FILE)
    ] = ""
    domain_type: Annotated[
        str, Flag("The type of bucket that a domain is in CRUSH.", metavar="TYPE")
    ] = "zone"
    domains: Annotated[
        tuple[str, ...],
        Meta(description="Buckets that get a pool, with what nodes call them."),
        Flag(
            "A bucket that gets a pool, and what the label of nodes calls it; may be repeated.",
            name="domain",
            metavar="BUCKET[=VALUE]",
            gather=gather_all,
            default="all of the type, under their own names",
        ),
    ] = ()
    label: Annotated[
        str,
        Flag(
            "The label of nodes, without what is before its slash.",
            metavar="NAME",
            default="the type",
        ),
    ] = ""
    root: Annotated[str, Flag("The bucket that the domains are below.", metavar="BUCKET")] = (
        "default"
    )
    prefix: Annotated[
        str,
        Flag(
            "What names of pools begin with; the bucket follows.",
            default="rbd-, or the name of the file system and a dash",
        ),
    ] = ""
    journal: Annotated[
        str,
        Flag(
            "The pool over all domains, for the journal. A file system has it elsewhere.",
            metavar="POOL",
            default="journal",
        ),
    ] = ""
    file_system: Annotated[
        str,
        Flag(
            "Make data pools of this file system, instead of pools for images.",
            metavar="NAME",
            default="",
        ),
    ] = ""
    group: Annotated[
        str,
        Flag("Mark the pools as one group among labelled pools.", metavar="NAME", default=""),
    ] = ""
    size: Annotated[int, Flag("Copies of each object.", at_least=1, at_most=10)] = 3
    min_size: Annotated[
        int, Flag("Copies that must be up for writing.", at_least=1, at_most=10)
    ] = 2
    pg_num: Annotated[int, Flag("Placement groups of each pool.", at_least=1)] = 32
    leaf: Annotated[str, Flag("The type of bucket that has at most one copy.", metavar="TYPE")] = (
        "host"
    )
    allow_single_copy: Annotated[
        bool,
        Flag("Make pools with --size=1, which are lost with their domain.", off=None),
    ] = False
    dry_run: Annotated[bool, Flag("Show what would be done, and do nothing.", off=None)] = False


@click.group()
def ceph() -> None:
    """Prepare a Ceph cluster for volumes that know where they are."""


@ceph.command("make-pools")
@settings_options(MakePoolsFlags, defaults=OptionDefaults.FINAL)
def make_pools(**given: Any) -> None:
    """Make a pool near each domain, and the journal pool, with their CRUSH rules.

    The primaries of a pool are all in its domain, the other copies are in other domains: reads are
    local, and the pool outlives its domain. Pools are labelled with their domains. They are for
    images, or with --file-system data pools of CephFS. What is there already is left as it is;
    rules and pools that another program made are never changed. Prints a class that uses the pools.

    Exit codes: 0 all pools are there (or would be), 1 they cannot be made, 2 bad usage.
    """
    try:
        flags = load_settings(MakePoolsFlags, Sources(flags=given))
        plan = asyncio.run(_made(flags, requested(flags)))
    except (ConfigError, SetupError) as error:
        raise click.UsageError(str(error)) from error
    except (CephError, NoCephError) as error:
        raise click.ClickException(str(error)) from error
    except CommandError as error:
        raise click.ClickException(
            f"{error}; crushtool comes with Ceph (Debian's package ceph-base)"
        ) from error
    if isinstance(plan, PoolsRefused):
        raise click.ClickException(plan.reason)
    _show(plan, requested(flags))


def requested(flags: MakePoolsFlags) -> PoolsRequest:
    """Raises ConfigError."""
    for name in ("monitors", "key_file"):
        if not getattr(flags, name):
            raise ConfigError(f"--{name.replace('_', '-')}: must be given")
    if flags.file_system and flags.journal:
        raise ConfigError("--journal: a file system has the journal in its metadata pool")
    return PoolsRequest(
        domain_type=flags.domain_type,
        root=flags.root,
        domains={bucket: value or bucket for bucket, _, value in map(_split, flags.domains)},
        label=flags.label,
        prefix=flags.prefix or (f"{flags.file_system}-" if flags.file_system else IMAGES),
        journal="" if flags.file_system else flags.journal or JOURNAL,
        file_system=flags.file_system,
        size=flags.size,
        min_size=min(flags.min_size, flags.size),
        pg_num=flags.pg_num,
        leaf=flags.leaf,
        group=flags.group,
        allows_single_copy=flags.allow_single_copy,
    )


def _split(text: str) -> tuple[str, str, str]:
    return text.partition("=")


async def _made(flags: MakePoolsFlags, request: PoolsRequest) -> PoolsPlan | PoolsRefused:
    options = RbdOptions(monitors=flags.monitors, user=flags.user, key_file=flags.key_file)
    connection = CephConnection(access_of(options))
    making = PoolMaking(connection=connection, clock=SystemClock(), request=request, tell=_remark)
    try:
        return await (making.rehearse() if flags.dry_run else making.make())
    finally:
        await connection.close()


def _remark(text: str) -> None:
    click.echo(text, err=True)


def _show(plan: PoolsPlan, request: PoolsRequest) -> None:
    if not plan.steps:
        _remark("everything is there already")
    for remark in plan.remarks:
        _remark(remark)
    click.echo(written_document(class_document(request, plan.pools), YAML))
