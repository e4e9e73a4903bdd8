"""What the leading scheduler believes: objects that are there, and room for what is on its way."""

from collections.abc import Iterable, Iterator

from plimsoll.api.meta import ApiObject
from plimsoll.api.registry import Document
from plimsoll.processes.scheduler.main import SchedulerProcess
from plimsoll.processes.scheduler.running import Scheduler
from plimsoll.simulator.cluster.mirror import (
    ATTACHMENTS,
    CAPACITIES,
    CLAIMS,
    NODES,
    PODS,
    VOLUMES,
)
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.invariants import Invariant
from plimsoll.simulator.settled.unsettled import Unsettled


def leading_scheduler(cluster: SimulatedCluster) -> Scheduler | None:
    """None: none leads, or it has yet to see the cluster."""
    only = cluster.components["scheduler-0"] if cluster.shape.copies.schedulers == 1 else None
    component = only or cluster.leader("scheduler")
    program = None if component is None or component.life is None else component.life.program
    if not isinstance(program, SchedulerProcess) or program.scheduler is None:
        return None
    return program.scheduler if program.scheduler.is_synced else None


def untrue_caches(cluster: SimulatedCluster) -> Iterator[Unsettled]:
    """Objects that the leading scheduler still has, or does not have yet."""
    scheduler = leading_scheduler(cluster)
    if scheduler is None:
        return
    stores, objects = scheduler.state.stores, cluster.mirror.objects
    cached: dict[str, Iterable[ApiObject]] = {
        PODS: stores.pods.observed().objects.values(),
        CLAIMS: stores.claims.observed().objects.values(),
        VOLUMES: stores.volumes.observed().objects.values(),
        NODES: stores.nodes.snapshot().objects.values(),
        ATTACHMENTS: stores.attachments.snapshot().objects.values(),
        CAPACITIES: stores.capacities.snapshot().objects.values(),
    }
    for kind, held in cached.items():
        has = {str(each.key): each.uid for each in held}
        real = {key: each["metadata"]["uid"] for key, each in objects[kind].items()}
        if kind == PODS:
            real = {key: uid for key, uid in real.items() if not _is_over(objects[kind][key])}
        for key in sorted(key for key in has.keys() | real.keys() if has.get(key) != real.get(key)):
            word = "has not got" if key not in has else "still has"
            message = f"the scheduler {word} {kind} {key}"
            yield Unsettled(invariant=Invariant.CACHES_ARE_TRUE, message=message)


def reservations_left(cluster: SimulatedCluster) -> Iterator[Unsettled]:
    """Room that the leading scheduler keeps for volumes which are not on their way."""
    scheduler = leading_scheduler(cluster)
    claims = cluster.mirror.objects[CLAIMS]
    fit = None if scheduler is None else scheduler.kernel.joint_fit
    charges = None if fit is None else fit.charges
    for charge in () if charges is None else charges.listed():
        reserved = charge.reservation
        claim = claims.get(str(reserved.claim))
        if claim is None or claim["spec"].get("volumeName"):
            message = f"{reserved.size} bytes on {reserved.node} are reserved for {reserved.claim}"
            yield Unsettled(invariant=Invariant.NOTHING_RESERVED_LEFT, message=message)


def _is_over(pod: Document) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
