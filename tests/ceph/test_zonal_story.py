"""Pods with volumes in the zones of a Ceph cluster, by real processes from claim to mounted file."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.ceph.volume_ids import decompose_volume_id
from plimsoll.wire.kind import typed
from tests.ceph import guardian
from tests.ceph.interrupted_calls import JournalGround, journal_ground
from tests.ceph.loopback_cluster import POOLS, LoopbackCluster
from tests.ceph.zonal_cluster import (
    CLASS_NAME,
    ZONE_LABEL,
    ZONES,
    ZonalCluster,
    node_of,
    zonal_cluster,
)

PODS, CLAIMS, VOLUMES = typed(Pod), typed(PersistentVolumeClaim), typed(PersistentVolume)
NAMESPACE = "default"
SECONDS = 120.0
"""For what a user waits for; a machine with other work is slow."""
SIZE = "32Mi"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount"),
    pytest.mark.timeout(600),
]


@pytest.fixture
async def ground(cluster: LoopbackCluster) -> AsyncIterator[JournalGround]:
    async with journal_ground(cluster) as made:
        yield made
        await made.assert_empty()
    assert guardian.mounts(cluster.directory) == []
    assert guardian.loop_devices(cluster.directory) == []


@pytest.fixture
async def zonal(
    cluster: LoopbackCluster,
    ground: JournalGround,  # noqa: ARG001 - looks afterwards whether all was given back
) -> AsyncIterator[ZonalCluster]:
    async with zonal_cluster(cluster) as made:
        try:
            yield made
        finally:
            print(made.said())


def key(name: str) -> ObjectKey:
    return ObjectKey(NAMESPACE, name)


def claim(name: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "storageClassName": CLASS_NAME,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": SIZE}},
        },
    }


def pod(name: str, *, zone: str = "") -> Document:
    """Uses the claim of its name; without a zone it may go anywhere."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "nodeSelector": {ZONE_LABEL: zone} if zone else {},
            "containers": [{"name": "main", "image": "none"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
        },
    }


async def make(zonal: ZonalCluster, name: str, zone: str) -> None:
    await zonal.client.create(claim(name))
    await zonal.client.create(pod(name, zone=zone))


async def running(zonal: ZonalCluster, name: str) -> Pod:
    async with asyncio.timeout(SECONDS):
        return await zonal.client.until(
            PODS, key(name), lambda found: found.status.phase == "Running"
        )


async def volume_of(zonal: ZonalCluster, name: str) -> PersistentVolume:
    """Of a claim that is bound."""
    async with asyncio.timeout(SECONDS):
        found = await zonal.client.until(
            CLAIMS, key(name), lambda found: found.status.phase == "Bound"
        )
        volume = await zonal.client.find(VOLUMES, ObjectKey("", found.spec.volume_name))
    assert volume
    return volume


async def mounted(zonal: ZonalCluster, name: str, zone: str) -> Path:
    """Where the pod of that name, which is in that zone, has its volume."""
    found = await running(zonal, name)
    assert found.spec.node_name == node_of(zone)
    return zonal.mount(zone, found.uid, (await volume_of(zonal, name)).name)


async def end_pods(zonal: ZonalCluster, *names: str) -> None:
    for name in names:
        await zonal.client.delete(PODS, key(name), grace=0)
    async with asyncio.timeout(SECONDS):
        for name in names:
            await zonal.client.until_gone(PODS, key(name))


async def end(zonal: ZonalCluster, *names: str) -> None:
    """Pods, claims, and the volumes of these."""
    volumes = [await volume_of(zonal, name) for name in names]
    await end_pods(zonal, *names)
    for name in names:
        await zonal.client.delete(CLAIMS, key(name))
    async with asyncio.timeout(SECONDS):
        for volume in volumes:
            await zonal.client.until_gone(VOLUMES, ObjectKey("", volume.name))


def write_through(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file)


async def images(ground: JournalGround) -> dict[str, list[str]]:
    """By zone."""
    found = (await ground.contents()).images
    return {zone: sorted(found.get(pool, ())) for zone, pool in POOLS.items()}


async def image_of(zonal: ZonalCluster, name: str) -> str:
    handle = (await volume_of(zonal, name)).spec.csi
    assert handle
    return f"csi-vol-{decompose_volume_id(handle.volume_handle).uuid}"


async def test_pods_have_their_data_in_their_zone_and_find_it_again(
    zonal: ZonalCluster, ground: JournalGround
) -> None:
    for zone in ZONES:
        await make(zonal, f"data-{zone}", zone)
    for zone in ZONES:
        place = await mounted(zonal, f"data-{zone}", zone)
        await asyncio.to_thread(write_through, place / "file", f"of {zone}")
    made = {zone: [await image_of(zonal, f"data-{zone}")] for zone in ZONES}
    assert await images(ground) == made

    await end_pods(zonal, *(f"data-{zone}" for zone in ZONES))
    for zone in ZONES:
        await zonal.client.create(pod(f"data-{zone}"))
    for zone in ZONES:
        place = await mounted(zonal, f"data-{zone}", zone)
        assert (place / "file").read_text() == f"of {zone}"
    assert await images(ground) == made
    await end(zonal, *(f"data-{zone}" for zone in ZONES))
