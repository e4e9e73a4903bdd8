"""Where the processes of a local cluster answer: the file `addresses` in its directory.

One line for each address: the process or its part, then where. All of them are on loopback, or
sockets.
"""

import logging
from collections.abc import Iterable
from pathlib import Path

from plimsoll.ui.local_cluster.children import RunningChild
from plimsoll.ui.local_cluster.layout import ClusterOptions
from plimsoll.ui.local_cluster.objects import LOCAL, POOLS

log = logging.getLogger(__name__)

FILE_NAME = "addresses"


def of_processes(children: Iterable[RunningChild]) -> list[tuple[str, str]]:
    """The API, and for the others the metrics; /healthz and /readyz are beside them."""
    found: list[tuple[str, str]] = []
    for each in children:
        found += each.parts or ([(each.child.name, each.address)] if each.address else [])
    return found


def of_drivers(wanted: ClusterOptions) -> list[tuple[str, str]]:
    """The CSI sockets: one for each real node, and one in all for hollow ones."""
    nodes = wanted.names[:1] if wanted.hollow else wanted.names
    return [
        (f"driver {driver}", wanted.socket(driver, node))
        for driver in (LOCAL, POOLS)
        for node in nodes
    ]


def table(rows: Iterable[tuple[str, str]]) -> list[str]:
    found = list(rows)
    width = max((len(name) for name, _ in found), default=0)
    return [f"{name:<{width}}  {address}" for name, address in found]


def read(directory: Path) -> list[tuple[str, str]]:
    """What was written when the cluster was up. Raises OSError."""
    found = (line.rsplit(maxsplit=1) for line in (directory / FILE_NAME).read_text().splitlines())
    return [(name, address) for name, address in found]


def write(wanted: ClusterOptions, children: Iterable[RunningChild]) -> None:
    """For the user alone: on a full disk the cluster goes on without it, and the log says so."""
    path = wanted.data_dir / FILE_NAME
    draft = path.with_suffix(".new")
    rows = [*of_processes(children), *of_drivers(wanted)]
    try:
        draft.write_text("".join(f"{line}\n" for line in table(rows)))
        draft.replace(path)
    except OSError as error:
        facts = {"path": str(path), "error": error.strerror or str(error)}
        log.warning("addresses not written", extra=facts)
