"""What an administrator says about the file system that the driver keeps volumes in."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from plimsoll.decide.ceph.pool_capacity import parse_overcommit
from plimsoll.processes.driver.backends.ceph.clusters.further_clusters import (
    FurtherCluster,
    read_clusters,
)
from plimsoll.processes.driver.backends.ceph.shared_options import CephOptions
from plimsoll.processes.driver.settings import SetupError


class CephfsOptions(CephOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Further clusters need an `fsName` of their own."""

    fs_name: str
    """The file system. Its metadata pool has the journal."""
    root: str = "/plimsoll"
    """The directory that has all volumes."""
    subvolume_group: str = "csi"
    """Where ceph-csi has the volumes that it made: `/volumes/GROUP`."""


class FurtherCephfsCluster(FurtherCluster, frozen=True, kw_only=True, forbid_unknown_fields=True):
    fs_name: str
    """The file system there. Its metadata pool has the journal of that cluster."""
    pool: str = ""
    root: str = ""
    subvolume_group: str = ""
    overcommit: str = ""


def parse_cephfs_options(options: Mapping[str, Any]) -> CephfsOptions:
    """Raises SetupError."""
    try:
        found = msgspec.convert(options, CephfsOptions, strict=False)
        parse_overcommit(found.overcommit)
        _check_root(found.root)
        _check_group(found.subvolume_group)
    except (msgspec.ValidationError, ValueError) as error:
        raise SetupError(f"options of the cephfs backend: {error}") from error
    return found


def further_filesystems(options: CephfsOptions) -> Sequence[CephfsOptions]:
    """Those of the file, each with the options that it does not have itself. Raises SetupError."""
    if not options.clusters:
        return ()
    listed = read_clusters(options.clusters, FurtherCephfsCluster, options.cluster_id)
    return [_options_of(each, options) for each in listed]


def _options_of(cluster: FurtherCephfsCluster, options: CephfsOptions) -> CephfsOptions:
    found = msgspec.structs.replace(
        options,
        cluster_id=cluster.cluster_id,
        monitors=cluster.monitors,
        user=cluster.user,
        key_file=cluster.key_file,
        fs_name=cluster.fs_name,
        pool=cluster.pool,
        root=cluster.root or options.root,
        subvolume_group=cluster.subvolume_group or options.subvolume_group,
        overcommit=cluster.overcommit or options.overcommit,
        clusters="",
    )
    return parse_cephfs_options(msgspec.to_builtins(found))


def _check_root(root: str) -> None:
    above, *parts = root.split("/")
    if above or not parts or not all(parts) or {".", ".."} & set(parts):
        raise ValueError(f"root {root!r} is no path; write it like /plimsoll")


def _check_group(group: str) -> None:
    if not group or "/" in group or group in (".", ".."):
        raise ValueError(f"subvolumeGroup {group!r} is no name of a directory")
