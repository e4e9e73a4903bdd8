"""What must be so when the kills have stopped: nothing lost; then, all deleted, nothing left."""

import asyncio
import shutil
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.kills.client import EnduringClient
from conformance.kills.cluster import DRIVERS, KilledCluster, attached, mounted
from conformance.kills.load import SETS, SNAPSHOTS, VOLUMES, Load
from conformance.kills.volumes import CLAIMS, PODS, KnownVolume
from plimsoll.api.core import Lease
from plimsoll.api.snapshots import VolumeSnapshotContent
from plimsoll.api.storage import CSIStorageCapacity, VolumeAttachment
from plimsoll.decide.provisioning.intents import Intent, read_intent
from plimsoll.processes.driver.ledger import FILE_NAME, Ledger
from plimsoll.ui.demo.objects import NAMESPACE, claim, of_snapshot, pod
from plimsoll.ui.local_cluster.layout import ClusterOptions, driver_dir
from plimsoll.ui.local_cluster.objects import NAMESPACE as SYSTEM
from plimsoll.wire.kind import Kind, typed

CONTENTS, ATTACHMENTS = typed(VolumeSnapshotContent), typed(VolumeAttachment)
CAPACITIES = typed(CSIStorageCapacity)
LEASES = typed(Lease)
LOOK_SECONDS = 0.5
LOOKS = 40
GONE_SECONDS = 240
CAPACITY_SECONDS = 150
"""Longer than the provisioner's own round, which finds what was deleted behind its back."""
"""How the provisioner calls a volume, followed by the uid of the claim."""
DELETED_KINDS: tuple[Kind[Any], ...] = (SETS, PODS, SNAPSHOTS, CLAIMS)
GONE_KINDS: tuple[Kind[Any], ...] = (*DELETED_KINDS, VOLUMES, CONTENTS, ATTACHMENTS)
FILES = (
    "disks/*/*/volumes/*",
    "disks/*/*/snapshots/*",
    "drivers/*/memory*/*",
    "drivers/*/copying/*",
    "drivers/*/volumes/*",
    "drivers/*/snapshots/*",
    "nodes/*/pods/*",
    "nodes/*/plugins/kubernetes.io/csi/*/*",
)

Capacity = dict[str, str]


@dataclass(frozen=True, slots=True)
class Asset:
    """A volume or snapshot in the records of a driver."""

    driver: str
    kind: str
    id: str
    name: str
    phase: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name} of {self.driver} ({self.id}, {self.phase})"


async def lost(client: EnduringClient) -> list[str]:
    """Objects that were acknowledged, never deleted by us, and are not there."""
    missing = []
    for (kind, key), uid in client.promised.items():
        found = await client.find_document(kind, key)
        if found is None or found["metadata"]["uid"] != uid:
            missing.append(f"{kind} {key} was acknowledged and is lost")
        elif "deletionTimestamp" in found["metadata"]:
            missing.append(f"{kind} {key} is being deleted, by another than us")
    return missing


async def check_data(load: Load) -> list[str]:
    """Every volume that stayed, and every snapshot through a volume that is restored from it."""
    restored = []
    for each in load.kept.snapshots:
        name = f"{each.name}-end"
        wanted = claim(name, each.size, class_=each.class_, source=of_snapshot(each.name))
        await load.client.create(wanted)
        await load.client.create(pod(name, name))
        restored.append(KnownVolume(name, each.class_, 0, name, each.contents))
    problems = []
    for volume in (*load.kept.volumes, *restored):
        try:
            await load.files.check(volume)
        except (AssertionError, OSError) as error:
            problems.append(str(error))
    return problems


async def delete_everything(client: EnduringClient) -> list[str]:
    """What does not go away is told."""
    deadline = asyncio.get_running_loop().time() + GONE_SECONDS
    while left := await _left(client):
        if asyncio.get_running_loop().time() > deadline:
            return [f"is not gone: {each}" for each in left]
        # Again and again: a set that was there when its pods went may have made another one.
        for kind in DELETED_KINDS:
            for found in await client.list(kind, NAMESPACE):
                if not found.is_being_deleted:
                    await client.delete(kind, found.key)
        await asyncio.sleep(LOOK_SECONDS)
    return []


async def settle_intents(client: EnduringClient) -> list[str]:
    """Wait until provisioners know of no volume any more that is not recorded."""
    deadline = asyncio.get_running_loop().time() + GONE_SECONDS
    while left := [
        intent for lease in await client.list(LEASES, SYSTEM) if (intent := _open(lease))
    ]:
        if asyncio.get_running_loop().time() > deadline:
            return [f"is not settled: {intent.name} ({intent.state})" for intent in left]
        await asyncio.sleep(LOOK_SECONDS)
    return []


def _open(lease: Lease) -> Intent | None:
    intent = read_intent({"metadata": {"annotations": lease.annotations}})
    return intent if intent is not None and intent.state.is_open else None


async def _left(client: EnduringClient) -> list[str]:
    found = []
    for kind in GONE_KINDS:
        namespace = NAMESPACE if kind.resource.namespaced else ""
        found += [kind.described(each.key) for each in await client.list(kind, namespace)]
    return found


def assets(cluster: KilledCluster) -> list[Asset]:
    """What the drivers have in their records now: a copy is read, because they hold the files."""
    return [asset for driver in DRIVERS for asset in _recorded(cluster, driver)]


def _recorded(cluster: KilledCluster, driver: str) -> list[Asset]:
    where = driver_dir(ClusterOptions(data_dir=cluster.directory), driver)
    with tempfile.TemporaryDirectory() as copy:
        for path in where.glob(f"{FILE_NAME}*"):
            shutil.copy(path, copy)
        with closing(Ledger(Path(copy))) as ledger:
            volumes, snapshots = ledger.volumes.all(), ledger.snapshots.all()
    return [
        *(Asset(driver, "volume", each.id, each.name, each.phase) for each in volumes),
        *(Asset(driver, "snapshot", each.id, each.name, each.phase) for each in snapshots),
    ]


async def capacity(client: EnduringClient) -> Capacity:
    """What is published, by class and segment."""
    found = {}
    for each in await client.list(CAPACITIES, SYSTEM):
        labels = each.node_topology.match_labels if each.node_topology else {}
        place = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        found[f"{each.storage_class_name} {place}"] = str(each.capacity)
    return dict(sorted(found.items()))


async def capacity_once_steady(client: EnduringClient, classes: int) -> Capacity:
    """At the start: the same twice, and something for each class."""
    before: Capacity = {}
    while True:
        found = await capacity(client)
        if found == before and len({key.partition(" ")[0] for key in found}) >= classes:
            return found
        before = found
        await asyncio.sleep(2)


async def capacity_lost(client: EnduringClient, wanted: Capacity) -> list[str]:
    deadline = asyncio.get_running_loop().time() + CAPACITY_SECONDS
    while (found := await capacity(client)) != wanted:
        if asyncio.get_running_loop().time() > deadline:
            places = sorted(found.keys() | wanted.keys())
            return [
                f"capacity of {place}: {wanted.get(place)} at first, {found.get(place)} now"
                for place in places
                if found.get(place) != wanted.get(place)
            ]
        await asyncio.sleep(LOOK_SECONDS)
    return []


async def left_on_the_machine(cluster: KilledCluster) -> list[str]:
    """Looked at for a while: the last directories go just after the last objects."""
    found = _leftovers(cluster.directory)
    for _ in range(LOOKS):
        if not found:
            break
        await asyncio.sleep(LOOK_SECONDS)
        found = _leftovers(cluster.directory)
    return found


def _leftovers(directory: Path) -> list[str]:
    return [
        *(f"still mounted: {path}" for path in mounted(directory)),
        *(f"a loop device is left: {device}" for device in attached(directory)),
        *(f"left: {path}" for pattern in FILES for path in directory.glob(pattern)),
    ]
