"""What an administrator says about the file system that the driver keeps volumes in."""

from collections.abc import Mapping
from typing import Any

import msgspec

from plimsoll.decide.ceph.pool_capacity import parse_overcommit
from plimsoll.processes.driver.settings import SetupError


class CephfsOptions(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    monitors: str
    user: str
    """Without `client.`."""
    key_file: str
    """A file that holds the key of the user, and nothing else."""
    fs_name: str
    """The file system. Its metadata pool has the journal."""
    cluster_id: str = ""
    """Classes that name another `clusterID` are refused; empty: any name will do."""
    pool: str = ""
    """The `pool` of classes that name none."""
    root: str = "/plimsoll"
    """The directory that has all volumes."""
    overcommit: str = "1"
    """How many bytes are promised for each that there is."""
    domain_levels: str = "region,zone,rack"
    """What domains are called, from wide to narrow."""


def parse_cephfs_options(options: Mapping[str, Any]) -> CephfsOptions:
    """Raises SetupError."""
    try:
        found = msgspec.convert(options, CephfsOptions, strict=False)
        parse_overcommit(found.overcommit)
        _check_root(found.root)
    except (msgspec.ValidationError, ValueError) as error:
        raise SetupError(f"options of the cephfs backend: {error}") from error
    return found


def _check_root(root: str) -> None:
    above, *parts = root.split("/")
    if above or not parts or not all(parts) or {".", ".."} & set(parts):
        raise ValueError(f"root {root!r} is no path; write it like /plimsoll")
