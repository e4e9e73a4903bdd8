"""Snapshots, restored and cloned claims, and growth some time after the last fault: each has come
to its end.
"""

from collections.abc import Iterator, Mapping

from plimsoll.api.quantity import parse_bytes
from plimsoll.api.registry import Document
from plimsoll.processes.driver.records import SnapshotRecord, VolumeRecord
from plimsoll.simulator.cluster.mirror import CLAIMS, CONTENTS, SNAPSHOTS, VOLUMES
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.invariants import Invariant
from plimsoll.simulator.settled.unsettled import Unsettled

FreeBytes = Mapping[str, Mapping[str, int]]
"""By driver and extent."""


def requested_bytes(claim: Document) -> int:
    return parse_bytes(claim["spec"]["resources"]["requests"]["storage"])


def is_copy(claim: Document) -> bool:
    return bool(claim["spec"].get("dataSource"))


def can_be_copied(cluster: SimulatedCluster, claim: Document) -> bool:
    """Whether what the claim is to be filled with is there to stay, and not larger than the claim.

    Provisioners take no content from what is being deleted, and none from a claim that asks for
    more, even if its volume cannot grow.
    """
    source, namespace = claim["spec"]["dataSource"], claim["metadata"]["namespace"]
    key = f"{namespace}/{source['name']}"
    if source["kind"] == "VolumeSnapshot":
        snapshot = cluster.mirror.objects[SNAPSHOTS].get(key)
        handle = "" if snapshot is None else _handle_of(cluster, snapshot)
        made: SnapshotRecord | VolumeRecord | None = _snapshots(cluster).get(handle)
        is_there = snapshot is not None and _is_ready(snapshot) and _stays(snapshot)
    else:
        origin = cluster.mirror.objects[CLAIMS].get(key)
        made = None if origin is None else _volume_of(cluster, origin)
        is_there = origin is not None and _is_bound(origin) and _stays(origin)
        if origin is not None and requested_bytes(origin) > requested_bytes(claim):
            return False
    return is_there and made is not None and made.size_bytes <= requested_bytes(claim)


def lacks_source(cluster: SimulatedCluster, claim: Document) -> bool:
    """It is to be filled with what is not there."""
    is_waiting = is_copy(claim) and not claim["spec"].get("volumeName")
    return is_waiting and not can_be_copied(cluster, claim)


async def unsettled_copies(cluster: SimulatedCluster) -> list[Unsettled]:
    free = {
        name: {
            extent.name: extent.free_bytes
            for pool in await host.driver.pools()
            for extent in pool.extents
        }
        for name, host in cluster.drivers.items()
        if host.driver is not None
    }
    return [*_taken(cluster, free), *_deleted(cluster), *_grown(cluster, free)]


def _taken(cluster: SimulatedCluster, free: FreeBytes) -> Iterator[Unsettled]:
    """Of a claim that has a volume a snapshot can be taken, if there is room for it."""
    for key, snapshot in sorted(cluster.mirror.objects[SNAPSHOTS].items()):
        name = snapshot["spec"]["source"].get("persistentVolumeClaimName", "")
        claim = cluster.mirror.objects[CLAIMS].get(f"{snapshot['metadata']['namespace']}/{name}")
        told = _error_of(snapshot)
        is_possible = claim is not None and _volume_of(cluster, claim) is not None
        if not _stays(snapshot):
            if not _is_being_restored(cluster, snapshot):
                message = f"snapshot {key} is being deleted and stays"
                is_known = _waits_for_capacity(cluster, snapshot, free)
                yield Unsettled(
                    invariant=Invariant.EVERYTHING_RUNS, message=message, is_known=is_known
                )
        elif is_possible and not _is_ready(snapshot) and "ResourceExhausted" not in told:
            message = f"snapshot {key} is not ready: {told or 'no error'}"
            yield Unsettled(invariant=Invariant.EVERYTHING_RUNS, message=message)


def _waits_for_capacity(cluster: SimulatedCluster, snapshot: Document, free: FreeBytes) -> bool:
    """Whether the driver has refused the snapshot for want of room, has made none, and still has
    no room for it.

    The snapshotter takes `ResourceExhausted` for a call that may have made something, as
    csi-snapshotter does: it asks on, and the snapshot stays until there is room. The content has
    the latest answer: a snapshot that is being deleted repeats no status any more.
    """
    name = (snapshot.get("status") or {}).get("boundVolumeSnapshotContentName", "")
    content = cluster.mirror.objects[CONTENTS].get(name)
    if content is None or _handle_of(cluster, snapshot):
        return False
    if "ResourceExhausted" not in _error_of(content):
        return False
    driver = content["spec"]["driver"]
    made = _made_volume(cluster, driver, content["spec"]["source"].get("volumeHandle", ""))
    room = free.get(driver, {})
    return made is not None and all(
        room.get(part.extent, 0) < made.size_bytes for part in made.placement.parts
    )


def _deleted(cluster: SimulatedCluster) -> Iterator[Unsettled]:
    """What drivers keep is what contents name."""
    contents, snapshots = cluster.mirror.objects[CONTENTS], cluster.mirror.objects[SNAPSHOTS]
    uids = {each["metadata"]["uid"] for each in snapshots.values()}
    existing, recorded = _snapshots(cluster), set[str]()
    for name, content in sorted(contents.items()):
        handle = (content.get("status") or {}).get("snapshotHandle", "")
        recorded.add(handle)
        if content["spec"]["volumeSnapshotRef"].get("uid") not in uids:
            message = f"the snapshot of {name} is gone, and it stays"
            yield Unsettled(invariant=Invariant.RECLAIMED, message=message)
        elif handle and handle not in existing:
            message = f"{name} is recorded, {handle} is not there"
            yield Unsettled(invariant=Invariant.NO_LOSSES, message=message)
    for handle, record in sorted(existing.items()):
        if handle not in recorded:
            message = f"snapshot {record.name} ({record.phase}) is in no object"
            yield Unsettled(invariant=Invariant.NO_LEAKS, message=message)


def _grown(cluster: SimulatedCluster, free: FreeBytes) -> Iterator[Unsettled]:
    for key, claim in sorted(cluster.mirror.objects[CLAIMS].items()):
        volume = cluster.mirror.objects[VOLUMES].get(claim["spec"].get("volumeName", ""))
        made = _volume_of(cluster, claim)
        if volume is None or made is None or not _stays(claim):
            continue
        missing = requested_bytes(claim) - parse_bytes(volume["spec"]["capacity"]["storage"])
        room = free.get(volume["spec"]["csi"]["driver"], {})
        if missing > 0 and all(room.get(p.extent, 0) >= missing for p in made.placement.parts):
            message = f"claim {key} waits for {missing} more bytes"
            yield Unsettled(invariant=Invariant.EVERYTHING_RUNS, message=message)


def _stays(object_: Document) -> bool:
    return "deletionTimestamp" not in object_["metadata"]


def _is_bound(claim: Document) -> bool:
    return (claim.get("status") or {}).get("phase") == "Bound"


def _error_of(object_: Document) -> str:
    """Of a snapshot or its content; empty if it tells none."""
    message: str = ((object_.get("status") or {}).get("error") or {}).get("message", "")
    return message


def _is_ready(snapshot: Document) -> bool:
    return (snapshot.get("status") or {}).get("readyToUse") is True


def _is_being_restored(cluster: SimulatedCluster, snapshot: Document) -> bool:
    metadata = snapshot["metadata"]
    return any(
        claim["spec"].get("dataSource", {}).get("kind") == "VolumeSnapshot"
        and claim["spec"]["dataSource"]["name"] == metadata["name"]
        and not claim["spec"].get("volumeName")
        for claim in cluster.mirror.objects[CLAIMS].values()
        if claim["metadata"]["namespace"] == metadata["namespace"]
    )


def _handle_of(cluster: SimulatedCluster, snapshot: Document) -> str:
    name = (snapshot.get("status") or {}).get("boundVolumeSnapshotContentName", "")
    content = cluster.mirror.objects[CONTENTS].get(name) or {}
    return str((content.get("status") or {}).get("snapshotHandle", ""))


def _snapshots(cluster: SimulatedCluster) -> dict[str, SnapshotRecord]:
    """By handle, whatever their phase."""
    return {
        record.id: record
        for host in cluster.drivers.values()
        if host.driver is not None
        for record in host.driver.ledger.snapshots.all()
    }


def _volume_of(cluster: SimulatedCluster, claim: Document) -> VolumeRecord | None:
    volume = cluster.mirror.objects[VOLUMES].get(claim["spec"].get("volumeName", "")) or {}
    source = (volume.get("spec") or {}).get("csi") or {}
    return _made_volume(cluster, source.get("driver", ""), source.get("volumeHandle", ""))


def _made_volume(cluster: SimulatedCluster, driver: str, handle: str) -> VolumeRecord | None:
    host = cluster.drivers.get(driver)
    if host is None or host.driver is None:
        return None
    return host.driver.ledger.volumes.find(handle)
