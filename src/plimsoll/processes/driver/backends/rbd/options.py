"""What an administrator says about the cluster that the driver keeps volumes in."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from plimsoll.decide.ceph.pool_capacity import parse_overcommit
from plimsoll.processes.driver.backends.ceph.clusters.further_clusters import (
    FurtherCluster,
    read_clusters,
)
from plimsoll.processes.driver.backends.ceph.shared_options import CephOptions
from plimsoll.processes.driver.settings import SetupError


class RbdOptions(CephOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Further clusters need a `pool` of their own."""

    older_journals: str = ""
    """Pools, separated by commas, where ceph-csi kept journals of volumes that are to be found."""


class FurtherRbdCluster(FurtherCluster, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pool: str
    """Where its journal is."""
    overcommit: str = ""
    older_journals: str = ""


def parse_options(options: Mapping[str, Any]) -> RbdOptions:
    """Raises SetupError."""
    try:
        found = msgspec.convert(options, RbdOptions, strict=False)
        parse_overcommit(found.overcommit)
    except (msgspec.ValidationError, ValueError) as error:
        raise SetupError(f"options of the rbd backend: {error}") from error
    return found


def overcommit_of(options: RbdOptions) -> Fraction:
    return parse_overcommit(options.overcommit)


def further_clusters(options: RbdOptions) -> Sequence[RbdOptions]:
    """Those of the file, each with the options that it does not have itself. Raises SetupError."""
    if not options.clusters:
        return ()
    if not options.pool:
        raise SetupError("options of the rbd backend: clusters: needs the option pool as well")
    listed = read_clusters(options.clusters, FurtherRbdCluster, options.cluster_id)
    return [_options_of(each, options) for each in listed]


def _options_of(cluster: FurtherRbdCluster, options: RbdOptions) -> RbdOptions:
    found = msgspec.structs.replace(
        options,
        cluster_id=cluster.cluster_id,
        monitors=cluster.monitors,
        user=cluster.user,
        key_file=cluster.key_file,
        pool=cluster.pool,
        overcommit=cluster.overcommit or options.overcommit,
        older_journals=cluster.older_journals,
        clusters="",
    )
    return parse_options(msgspec.to_builtins(found))
