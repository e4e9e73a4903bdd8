"""The paths that are walked: what a user does, and what must be so in the end."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from conformance.every_step import kubelet
from conformance.every_step.api_line import API_SERVER
from conformance.every_step.cluster import CONTROLLER, DRIVERS, NODES, PROCESSES, zone_of
from conformance.every_step.scene import (
    CLAIMS,
    PODS,
    SELECTED_NODE,
    KilledScene,
    handle_of,
    zone_of_volume,
)
from conformance.every_step.waiting import READY_SECONDS, until
from plimsoll.api.meta import ObjectKey
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.rollback.records import RollbackState

LOOK_SECONDS = 0.1
MIDDLE_SECONDS = 30.0
"""How long a user waits at most before the pod is deleted in the middle."""
STUCK_SECONDS = 1.5
LOOKED_SECONDS = 5.0
"""More than a controller takes to begin again: it then looks at once."""

Deed = Callable[[KilledScene], Awaitable[None]]
Check = Callable[[KilledScene], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KillPath:
    name: str
    prepare: Deed
    """Before any process is killed."""
    act: Deed
    wrong: Check
    """What is not yet as it must be in the end."""
    victims: tuple[str, ...] = PROCESSES


async def _nothing(_scene: KilledScene) -> None:
    pass


# A group


async def _ask_for_two(scene: KilledScene, second: str) -> None:
    await scene.add_claim(0, "driver-a-roomy")
    await scene.add_claim(1, second)
    await scene.add_pod()


async def _commit(scene: KilledScene) -> None:
    await _ask_for_two(scene, "driver-b-roomy")


async def _refuse(scene: KilledScene) -> None:
    """The first node is preferred, and has no room for the second claim."""
    await _ask_for_two(scene, "driver-b-narrow")


async def _delete_in_the_middle(scene: KilledScene) -> None:
    """When the first volume is made and the second is not."""
    await _ask_for_two(scene, "driver-b-slow")
    deadline = asyncio.get_running_loop().time() + MIDDLE_SECONDS
    while asyncio.get_running_loop().time() < deadline:
        if await kubelet.has_made(scene.cluster, DRIVERS[0]):
            break
        await asyncio.sleep(LOOK_SECONDS)
    await scene.cluster.client.delete(PODS, ObjectKey("default", scene.pod), grace=0)


async def _runs_anywhere(scene: KilledScene) -> list[str]:
    return await _runs(scene, NODES)


async def _runs_on_the_second(scene: KilledScene) -> list[str]:
    return await _runs(scene, NODES[1:])


async def _runs(scene: KilledScene, nodes: tuple[str, ...]) -> list[str]:
    """On one of these nodes, with both volumes there, and nothing is left besides."""
    node = await scene.node()
    problems = [] if node in nodes else [f"pod {scene.pod} is on node {node!r}"]
    for claim in scene.claims:
        volume = await scene.volume_of(claim)
        if volume is None:
            problems.append(f"claim {claim} is not bound")
        elif zone_of_volume(volume) != zone_of(node):
            problems.append(f"claim {claim} has a volume in zone {zone_of_volume(volume)}")
    problems += [f"record left: {name}" for name in await scene.records()]
    return problems + await scene.unrecorded()


async def _is_undone_or_finished(scene: KilledScene) -> list[str]:
    """The pod is gone: both volumes are recorded, or none is there and the claims are free."""
    problems = [] if await scene.find(PODS, scene.pod) is None else [f"{scene.pod} is not gone"]
    bound = []
    for name in scene.claims:
        claim = await scene.find(CLAIMS, name)
        annotations = (claim or {}).get("metadata", {}).get("annotations") or {}
        is_bound = await scene.volume_of(name) is not None
        bound.append(is_bound)
        if HOLD in annotations or (SELECTED_NODE in annotations and not is_bound):
            problems.append(f"claim {name} is held, or has a node and no volume")
    if any(bound) and not all(bound):
        problems.append("one claim is bound, and the other is not")
    problems += [f"record left: {name}" for name in await scene.records()]
    return problems + await scene.unrecorded()


# A volume that is taken back


async def _strand(scene: KilledScene) -> None:
    """A volume on the first node, for a pod that can run on the second one only."""
    await scene.add_claim(0, "driver-a-roomy", NODES[0])
    await until("a volume on the first node", scene.is_first_bound)
    scene.cluster.processes[CONTROLLER].hold_down()
    await scene.add_claim(1, "driver-b-roomy")
    await scene.add_pod(nodeSelector={"kubernetes.io/hostname": NODES[1]})
    await until("a pod that no node can have", scene.is_refused)
    await asyncio.sleep(STUCK_SECONDS)


async def _look_anew(scene: KilledScene) -> None:
    """A controller looks for such pods when it begins, and then every ten seconds."""
    scene.cluster.processes[CONTROLLER].release()


async def _use_when_killed(scene: KilledScene) -> None:
    """As soon as a process is killed, a pod uses the volume, if the volume can still be used."""
    await _look_anew(scene)
    deadline = asyncio.get_running_loop().time() + READY_SECONDS
    while asyncio.get_running_loop().time() < deadline and scene.killed_at is None:
        if await scene.node():
            return
        await asyncio.sleep(0.01)
    claim, volume = await scene.find(CLAIMS, scene.claims[0]), None
    if claim is not None and not claim["metadata"].get("deletionTimestamp"):
        volume = await scene.volume_of(scene.claims[0])
    if volume is None or zone_of_volume(volume) != zone_of(NODES[0]):
        return
    writer = f"writer-{scene.number}"
    await scene.add_pod(writer, scene.claims[0], nodeName=NODES[0])
    scene.used = await kubelet.use_if_there(scene.cluster, DRIVERS[0], NODES[0], handle_of(volume))
    await scene.cluster.client.delete(PODS, ObjectKey("default", writer), grace=0)


async def _is_kept_if_used(scene: KilledScene) -> list[str]:
    """Where a pod got it in time: the data is there, and the rollback has come to an end."""
    if not scene.used:
        return await _runs_on_the_second(scene)
    problems = []
    if not kubelet.is_written(scene.cluster, DRIVERS[0], scene.used):
        problems.append(f"used volume deleted: {scene.used}")
    if time.monotonic() < scene.used_at + LOOKED_SECONDS:
        problems.append("the controller has not looked again")
    states = await scene.rollback_states()
    problems += [f"record left: {state}" for state in states if state is not RollbackState.KEPT]
    if not states:
        problems += [
            f"volume {volume['metadata']['name']} is not as it was"
            for volume in await scene.volumes()
            if volume["spec"]["persistentVolumeReclaimPolicy"] != "Delete"
        ]
    return problems + await scene.unrecorded()


PATHS = (
    KillPath(name="a group commits", prepare=_nothing, act=_commit, wrong=_runs_anywhere),
    KillPath(name="a group is undone", prepare=_nothing, act=_refuse, wrong=_runs_on_the_second),
    KillPath(
        name="a pod is deleted meanwhile",
        prepare=_nothing,
        act=_delete_in_the_middle,
        wrong=_is_undone_or_finished,
    ),
    KillPath(
        name="an unused volume is taken back",
        prepare=_strand,
        act=_look_anew,
        wrong=_runs_on_the_second,
    ),
    KillPath(
        name="a volume is used while it is taken back",
        prepare=_strand,
        act=_use_when_killed,
        wrong=_is_kept_if_used,
        victims=(CONTROLLER, API_SERVER, DRIVERS[0]),
    ),
)
