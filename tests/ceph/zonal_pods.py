"""Pods with a volume each in the zones of a Ceph cluster, as a user makes and ends them."""

import asyncio
import os
from functools import partial
from pathlib import Path

from conformance.every_step.waiting import until

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.wire.kind import typed
from tests.ceph import guardian
from tests.ceph.zonal_cluster import CLASS_NAME, ZONE_LABEL, ZonalCluster, node_of

PODS, CLAIMS, VOLUMES = typed(Pod), typed(PersistentVolumeClaim), typed(PersistentVolume)
NAMESPACE = "default"
SECONDS = 120.0
"""For what a user waits for; a machine with other work is slow."""
SIZE = "32Mi"


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
    """The last pods, with their claims and volumes. A pod that is ended without a grace period is
    gone before its node has taken its mounts down, so these are waited for as well."""
    volumes = [await volume_of(zonal, name) for name in names]
    await end_pods(zonal, *names)
    for name in names:
        await zonal.client.delete(CLAIMS, key(name))
    async with asyncio.timeout(SECONDS):
        for volume in volumes:
            await zonal.client.until_gone(VOLUMES, ObjectKey("", volume.name))
    await until("the nodes have unmounted everything", partial(has_no_mounts, zonal))


async def has_no_mounts(zonal: ZonalCluster) -> bool:
    return guardian.mounts(zonal.directory) == []


def write_through(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file)
