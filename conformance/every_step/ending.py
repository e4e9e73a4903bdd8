"""The end of a run: volumes of a pod that runs are used, then all is deleted, and nothing stays."""

from conformance.every_step import kubelet
from conformance.every_step.cluster import DRIVERS, NODES, RECORDS
from conformance.every_step.scene import (
    CLAIMS,
    LEASES,
    PODS,
    VOLUMES,
    KilledScene,
    handle_of,
)
from conformance.every_step.waiting import wrong_at_last
from plimsoll.api.meta import ObjectKey


async def clear(scene: KilledScene) -> list[str]:
    """What cannot be used, and what does not go away."""
    problems = await _use_all(scene)
    client = scene.cluster.client
    await client.delete(PODS, ObjectKey("default", scene.pod), grace=0)
    for claim in scene.claims:
        await client.delete(CLAIMS, ObjectKey("default", claim))
    if scene.used:
        await _give_up_used(scene)
    return problems + await wrong_at_last(lambda: _left(scene))


async def _use_all(scene: KilledScene) -> list[str]:
    node, problems = await scene.node(), []
    for driver, claim in zip(DRIVERS, scene.claims, strict=True):
        volume = await scene.volume_of(claim)
        if not node or volume is None:
            continue
        handle = handle_of(volume)
        await kubelet.use(scene.cluster, driver, node, handle)
        if not kubelet.is_written(scene.cluster, driver, handle):
            problems.append(f"what was written to {handle} is not there")
    return problems


async def _give_up_used(scene: KilledScene) -> None:
    """As an administrator does with a volume that was kept: no process deletes it."""
    client = scene.cluster.client
    for volume in await scene.volumes():
        if handle_of(volume) == scene.used and volume["metadata"].get("deletionTimestamp"):
            key = ObjectKey("", volume["metadata"]["name"])
            await client.patch(VOLUMES, key, {"metadata": {"finalizers": None}})
            await kubelet.delete(scene.cluster, DRIVERS[0], NODES[0], scene.used)
            for name in await scene.all_records():
                if "rollback" in name:
                    await client.delete(LEASES, ObjectKey(RECORDS, name))


async def _left(scene: KilledScene) -> list[str]:
    left = [f"left: {name}" for name in await scene.all_records()]
    left += [f"left: {volume['metadata']['name']}" for volume in await scene.volumes()]
    for kind in (PODS, CLAIMS):
        left += [
            f"left: {each['metadata']['name']}"
            for each in await scene.cluster.client.list(kind, "default")
        ]
    for driver in DRIVERS:
        made = await kubelet.volumes_of(scene.cluster, driver)
        left += [f"leaked: {each} of {driver}" for each in made]
    return left
