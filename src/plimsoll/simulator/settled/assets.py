"""What drivers and provisioners have made: all of it is recorded, and what is recorded is there."""

from collections.abc import Iterator

from plimsoll.api.core import Lease
from plimsoll.decide.provisioning.intents import INTENT, Intent, IntentState, read_intent
from plimsoll.decide.records import RECORD
from plimsoll.simulator.cluster.in_process import PLACE
from plimsoll.simulator.cluster.mirror import (
    CLAIMS,
    VOLUMES,
)
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.invariants import Invariant
from plimsoll.simulator.settled.unsettled import Unsettled
from plimsoll.wire.kind import documents, typed
from plimsoll.wire.parameters import Selection

LEASES = documents(typed(Lease).resource)


async def suspected_volumes(cluster: SimulatedCluster) -> set[str]:
    """Ids of volumes that an administrator is told of, because nothing proves that no pod has used
    them: another program may have led, and their driver cannot tell."""
    foreign = {driver.name for driver in cluster.shape.drivers if driver.only_csi}
    return {
        intent.volume_id
        for intent in await _stored_intents(cluster)
        if intent.state is IntentState.SUSPECT and intent.driver in foreign
    }


async def _stored_intents(cluster: SimulatedCluster) -> list[Intent]:
    leases = await cluster.client.list(LEASES, Selection(labels=f"{RECORD}={INTENT}"))
    return [intent for lease in leases.items if (intent := read_intent(lease)) is not None]


def leaked_and_lost_volumes(cluster: SimulatedCluster, suspected: set[str]) -> Iterator[Unsettled]:
    mirror = cluster.mirror
    recorded: dict[str, str] = {}
    for name, volume in mirror.objects[VOLUMES].items():
        if source := volume["spec"].get("csi"):
            recorded[source["volumeHandle"]] = name
    existing: set[str] = set()
    for host in cluster.drivers.values():
        if host.driver is None:
            continue
        for record in host.driver.ledger.volumes.all():
            existing.add(record.id)
            if record.id not in recorded and record.id not in suspected:
                message = f"{host.name} has {record.name} ({record.phase}), in no object"
                is_known = record.name in host.unfenced or host.is_of_stock(record.name)
                yield Unsettled(invariant=Invariant.NO_LEAKS, message=message, is_known=is_known)
    behind_stock = deleted_behind_stock(cluster)
    for handle, name in sorted(recorded.items()):
        if handle not in existing:
            message = f"{name} is recorded, {handle} is not there"
            is_known = name in behind_stock
            yield Unsettled(invariant=Invariant.NO_LOSSES, message=message, is_known=is_known)


def deleted_behind_stock(cluster: SimulatedCluster) -> set[str]:
    """Names of volumes that csi-provisioner, in our place, has recorded while ours was deleting
    them: no pod had used them. `--prepare-swap-back` fails while there are any."""
    return {
        name
        for name, volume in cluster.mirror.objects[VOLUMES].items()
        if (source := volume["spec"].get("csi"))
        and (host := cluster.drivers.get(source["driver"]))
        and host.driver is not None
        and host.driver.ledger.volumes.find(source["volumeHandle"]) is None
        and host.is_deleted_behind_stock(name, source["volumeHandle"])
    }


def leaked_and_lost_disks(cluster: SimulatedCluster) -> Iterator[Unsettled]:
    """Of the provisioner inside the controllers: it leaks nothing, whichever process is killed."""
    paths = {
        volume["spec"]["hostPath"]["path"].removeprefix(PLACE)
        for volume in cluster.mirror.objects[VOLUMES].values()
        if "hostPath" in volume["spec"]
    }
    existing = {disk.name for disk in cluster.cloud.disks}
    for name in sorted(existing - paths):
        yield Unsettled(invariant=Invariant.NO_LEAKS, message=f"disk {name} is in no object")
    for name in sorted(paths - existing):
        yield Unsettled(invariant=Invariant.NO_LOSSES, message=f"disk {name} is not there")


async def intents_left(cluster: SimulatedCluster, suspected: set[str]) -> list[Unsettled]:
    """Of claims that are gone, whichever process stored them."""
    uids = {claim["metadata"]["uid"] for claim in cluster.mirror.objects[CLAIMS].values()}
    left = [
        f"intent {intent.name} is still {intent.state}, and its claim is gone"
        for intent in await _stored_intents(cluster)
        if intent.uid not in uids and intent.volume_id not in suspected
    ]
    return [Unsettled(invariant=Invariant.NO_LEAKS, message=told) for told in sorted(left)]


def unreclaimed_volumes(cluster: SimulatedCluster) -> Iterator[Unsettled]:
    uids = {claim["metadata"]["uid"] for claim in cluster.mirror.objects[CLAIMS].values()}
    for name, volume in sorted(cluster.mirror.objects[VOLUMES].items()):
        uid = (volume["spec"].get("claimRef") or {}).get("uid")
        phase = (volume.get("status") or {}).get("phase")
        is_kept = volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
        if uid and uid not in uids and not (is_kept and phase == "Released"):
            message = f"the claim of {name} is gone, and it is still {phase}"
            yield Unsettled(invariant=Invariant.RECLAIMED, message=message)
