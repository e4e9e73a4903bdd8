"""Nodes that a cluster had and is to have no more.

A node goes only when nothing is kept on it: no volume or snapshot on its disks, no volume attached
to it. Otherwise the start is refused before anything has changed. Files of a node are never
deleted here.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from plimsoll.api.core import Lease, Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.storage import CSINode
from plimsoll.processes.driver.ledger import FILE_NAME, Ledger
from plimsoll.processes.driver.records import VolumePlacement
from plimsoll.runtime.config import ConfigError
from plimsoll.ui.local_cluster.layout import ClusterOptions, driver_dir
from plimsoll.ui.local_cluster.objects import LOCAL, POOLS
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import Kind, typed
from plimsoll.wire.kube import KubeClient

MOST_NAMED = 5
NODE_LEASES = "kube-node-lease"


def removed(before: ClusterOptions, wanted: ClusterOptions) -> tuple[str, ...]:
    return tuple(name for name in before.names if name not in wanted.names)


def refuse_occupied(wanted: ClusterOptions, nodes: tuple[str, ...], before: int) -> None:
    """Raises ConfigError for the first of the nodes that something is kept on."""
    for node in nodes:
        held = sorted(kept_on(wanted, node))
        if held:
            named = ", ".join(held[:MOST_NAMED]) + (", …" if len(held) > MOST_NAMED else "")
            raise ConfigError(
                f"--nodes {wanted.nodes} would take {node} away, which has {named}; start with "
                f"--nodes {before} and delete the claims and snapshots on {node} first"
            )


def kept_on(wanted: ClusterOptions, node: str) -> Iterator[str]:
    """What the drivers' records say of it; asked while no driver runs."""
    for driver in (LOCAL, POOLS):
        directory = driver_dir(wanted, driver)
        if (directory / FILE_NAME).exists():
            yield from _recorded(directory, driver, node)


def _recorded(directory: Path, driver: str, node: str) -> Iterator[str]:
    with closing(Ledger(directory)) as ledger:
        for volume in ledger.volumes.all():
            attached = any(each.node_id == node for each in volume.attachments)
            if attached or _is_on(volume.placement, driver, node):
                yield f"volume {volume.name}"
        for snapshot in ledger.snapshots.all():
            if _is_on(snapshot.placement, driver, node):
                yield f"snapshot {snapshot.name}"


def _is_on(placement: VolumePlacement, driver: str, node: str) -> bool:
    return any(segment.get(f"topology.{driver}/node") == node for segment in placement.topology)


async def delete_objects(client: KubeClient, nodes: tuple[str, ...]) -> None:
    """What the API server knows of the nodes; pods that were on them are the controller's."""
    for node in nodes:
        await _delete(client, typed(Node), ObjectKey("", node))
        await _delete(client, typed(CSINode), ObjectKey("", node))
        await _delete(client, typed(Lease), ObjectKey(NODE_LEASES, node))


async def _delete(client: KubeClient, kind: Kind[Any], key: ObjectKey) -> None:
    try:
        await client.delete(kind, key)
    except KubeError as error:
        if error.failure is not Failure.NOT_FOUND:
            raise
