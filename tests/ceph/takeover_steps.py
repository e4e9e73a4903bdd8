"""A zone that is lost, taken over with its volumes, and given back: steps that stories share.

The node of the lost zone is cut off from everything but Ceph: its processes are gone, and the
client that shows the volume there lives on and could still write. So a story sees that the fence
stops it.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from conformance.every_step.waiting import until

from plimsoll.api.core import ConfigMap, Event, Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.ceph.takeover.served_labels import SERVED, served_label
from plimsoll.wire.kind import typed
from tests.ceph.loopback_cluster import osd
from tests.ceph.zonal_cluster import (
    DRIVER,
    ZONE_LABEL,
    ZONES,
    ZonalCluster,
    driver_of,
    node_of,
)
from tests.ceph.zonal_pods import SECONDS, end, end_pods, make, mounted, pod, running, volume_of

LOST, TARGET, *_ = ZONES
NODES, MAPS, EVENTS = typed(Node), typed(ConfigMap), typed(Event)
MAP = ObjectKey("kube-system", "plimsoll-takeover")
SERVES = served_label(DRIVER, (LOST,))
BYTES = 4 << 20
POD = "data"
FLAGS = f"--takeover={DRIVER}", f"--takeover-labels={ZONE_LABEL}"
STOPPED = r"Input/output error|Read-only file system|endpoint shutdown|not connected"
"""What a client is told that is on the blocklist."""


def takeover_map(targets_by_source: dict[str, list[str]]) -> Document:
    text = json.dumps({"version": 2, "topology-takeover": targets_by_source})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": MAP.namespace, "name": MAP.name},
        "data": {"config.json": text},
    }


def serves(wanted: bool, node: Node) -> bool:  # noqa: FBT001 - for partial
    return (node.metadata.labels.get(SERVES) == SERVED) is wanted


async def is_served_by(zonal: ZonalCluster, *zones: str) -> None:
    """Waits until these zones serve the lost one, and no others do."""
    async with asyncio.timeout(SECONDS):
        for zone in ZONES:
            name = ObjectKey("", node_of(zone))
            await zonal.client.until(NODES, name, partial(serves, zone in zones))


def required_labels(volume: PersistentVolume) -> Iterator[str]:
    required = volume.spec.required_nodes
    for term in required.node_selector_terms if required else ():
        yield from (expression.key for expression in term.match_expressions)


async def is_told(zonal: ZonalCluster, reason: str, *parts: str) -> None:
    """Waits for an event about the map that says all of this."""

    async def is_there() -> bool:
        return any(
            event.reason == reason and all(part in event.message for part in parts)
            for event in await zonal.client.list(EVENTS, MAP.namespace)
        )

    await until(f"{reason} is told", is_there)


def write_checked(path: Path) -> str:
    data = os.urandom(BYTES)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file)
    return hashlib.sha256(data).hexdigest()


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def lose(zonal: ZonalCluster, zone: str) -> None:
    """Its storage dies, and its node is heard of no more; what shows volumes there lives on."""
    for name in (node_of(zone), driver_of(zone)):
        zonal.processes[name].hold_down()
    zonal.ceph.end(osd(zone))
    zonal.ceph.wait_for_osds(len(ZONES) - 1)


def bring_back(zonal: ZonalCluster, zone: str) -> None:
    zonal.ceph.restart_osd(zone)
    for name in (driver_of(zone), node_of(zone)):
        zonal.processes[name].release()


async def taken_over_and_given_back(zonal: ZonalCluster) -> None:
    """A pod keeps its data through both."""
    await make(zonal, POD, LOST)
    old = await mounted(zonal, POD, LOST)
    first = await asyncio.to_thread(write_checked, old / "first")
    assert [*required_labels(await volume_of(zonal, POD))] == [SERVES]
    await is_served_by(zonal, LOST)

    await asyncio.to_thread(lose, zonal, LOST)
    await asyncio.to_thread(write_checked, old / "written-while-lost")
    await zonal.client.create(takeover_map({LOST: [TARGET]}))
    await is_served_by(zonal, TARGET)
    await is_told(zonal, "DomainFenced", f"Nothing in {LOST} can write any more")
    with pytest.raises(OSError, match=STOPPED):
        await asyncio.to_thread(write_checked, old / "written-too-late")

    await end_pods(zonal, POD)
    await zonal.client.create(pod(POD))
    new = await mounted(zonal, POD, TARGET)
    assert await asyncio.to_thread(checksum, new / "first") == first
    assert not (new / "written-too-late").exists()
    second = await asyncio.to_thread(write_checked, new / "second")

    await asyncio.to_thread(bring_back, zonal, LOST)
    await zonal.client.patch(MAPS, MAP, {"data": takeover_map({})["data"]})
    await is_told(zonal, "GivebackWaits", f"default/{POD}", f"{node_of(TARGET)} still serves")
    assert (await running(zonal, POD)).spec.node_name == node_of(TARGET)
    assert await asyncio.to_thread(checksum, new / "second") == second
    await is_served_by(zonal, TARGET)

    await end_pods(zonal, POD)
    await is_served_by(zonal, LOST)
    await is_told(zonal, "DomainReleased", LOST)
    await zonal.client.create(pod(POD))
    back = await mounted(zonal, POD, LOST)
    assert await asyncio.to_thread(checksum, back / "first") == first
    assert await asyncio.to_thread(checksum, back / "second") == second
    await end(zonal, POD)
