"""What an administrator says about the cluster that the driver keeps volumes in."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import msgspec

from plimsoll.decide.ceph.pool_capacity import parse_overcommit
from plimsoll.processes.driver.settings import SetupError


class RbdOptions(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    monitors: str
    user: str
    """Without `client.`."""
    key_file: str
    """A file that holds the key of the user, and nothing else."""
    cluster_id: str = ""
    """Classes that name another `clusterID` are refused; empty: any name will do."""
    pool: str = ""
    """The `pool` of classes that name none."""
    overcommit: str = "1"
    """How many bytes are promised for each that there is."""
    older_journals: str = ""
    """Pools, separated by commas, where ceph-csi kept journals of volumes that are to be found."""
    domain_levels: str = "region,zone,rack"
    """What domains are called, from wide to narrow."""


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
