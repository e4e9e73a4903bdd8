"""What the options of backends on Ceph have in common: cluster, key of the user, and lists."""

from pathlib import Path

import msgspec

from plimsoll.processes.driver.settings import SetupError
from plimsoll.wire.ceph.connection import CephAccess

LONGEST_KEY = 4096
"""Bytes of a file that holds nothing else; keys have forty."""


class CephOptions(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """What an administrator says about a cluster, whatever volumes are there."""

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
    """How many bytes are promised for each that there is, by classes that do not say it."""
    domain_levels: str = "region,zone,rack"
    """What domains are called, from wide to narrow."""
    clusters: str = ""
    """A file that lists further clusters; each with `clusterId`, `monitors`, `user`, `keyFile`, and
    what else the backend cannot do without there."""


def access_of(options: CephOptions) -> CephAccess:
    """Raises SetupError."""
    try:
        with Path(options.key_file).open("rb") as file:
            read = file.read(LONGEST_KEY + 1)
    except OSError as error:
        raise SetupError(f"keyFile: {options.key_file}: {error.strerror}") from error
    key = read.decode(errors="replace").strip()
    if len(read) > LONGEST_KEY or not (key.isascii() and key.isprintable() and key):
        raise SetupError(
            f"keyFile: {options.key_file}: holds no key; `ceph auth get-key` prints it"
        )
    return CephAccess(monitors=options.monitors, user=options.user, key=key)


def names_in(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))
