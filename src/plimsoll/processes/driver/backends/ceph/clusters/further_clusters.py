"""The file that lists the clusters of a driver beside its first one."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import yaml

from plimsoll.decide.ceph.volume_ids import KNOWN_BYTES, LONGEST_BYTES
from plimsoll.processes.driver.settings import SetupError

LONGEST_NAME = LONGEST_BYTES - KNOWN_BYTES
"""Of a cluster: it is part of the ids of volumes."""
LARGEST_FILE = 1 << 20


class FurtherCluster(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """What differs from cluster to cluster, whatever volumes are."""

    cluster_id: str
    monitors: str
    user: str
    key_file: str


Listed = TypeVar("Listed", bound=FurtherCluster)


def read_clusters(file: str, form: type[Listed], first: str) -> Sequence[Listed]:
    """Those of the file, which have other names than the first one. Raises SetupError."""
    try:
        listed = [
            msgspec.convert(each, form) for each in msgspec.convert(_read(file), list[object])
        ]
    except (OSError, ValueError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise SetupError(f"clusters: {file}: {error}") from error
    _check_names([first, *(each.cluster_id for each in listed)])
    return listed


def _read(file: str) -> object:
    with Path(file).open("rb") as opened:
        read = opened.read(LARGEST_FILE + 1)
    if len(read) > LARGEST_FILE:
        raise ValueError("is too large for a list of clusters")
    return yaml.safe_load(read)


def _check_names(names: Sequence[str]) -> None:
    for at, name in enumerate(names):
        if not name or "/" in name or len(name.encode()) > LONGEST_NAME:
            raise SetupError(
                f"clusterId {name[:LONGEST_NAME]!r}: each of several clusters needs a name of its"
                f" own, without a slash and of at most {LONGEST_NAME} bytes"
            )
        if name in names[:at]:
            raise SetupError(f"clusterId {name!r}: two clusters are called so")
