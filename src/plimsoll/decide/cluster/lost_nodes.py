"""Pods that no node will end: their node is gone, out of service, or was never chosen.

A pod whose deletion no kubelet carries out keeps its claims and its name for ever. It is marked as
failed first, since no kubelet will report about it again, and then deleted without a grace period.
Finished pods are deleted only when there are very many of them.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from plimsoll.api.core import Node
from plimsoll.api.meta import wire_time
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.decide.claims.protection import is_shut_down
from plimsoll.decide.plan import NOTHING, Delete, Patch, Plan, Write
from plimsoll.decide.resources import PODS
from plimsoll.decide.statuses import condition_document, status_patch

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
DISRUPTION = "DisruptionTarget"


class PodEndingReason(StrEnum):
    """Why a pod is ended by force."""

    NODE_GONE = "orphaned"
    OUT_OF_SERVICE = "out-of-service"
    NEVER_SCHEDULED = "unscheduled"
    TOO_MANY = "terminated"


def reason_to_end(pod: Pod, node: Node | None, *, node_is_gone: bool) -> PodEndingReason | None:
    """`node` is the pod's node as far as it is known. That it is not known does not mean that it
    is gone: for that, it must have been missing for a while, and the server must say so."""
    if is_ended(pod):
        return None
    if pod.spec.node_name:
        if node_is_gone:
            return PodEndingReason.NODE_GONE
        if pod.is_being_deleted and node is not None and is_out_of_service(node):
            return PodEndingReason.OUT_OF_SERVICE
        return None
    return PodEndingReason.NEVER_SCHEDULED if pod.is_being_deleted else None


def is_ended(pod: Pod) -> bool:
    """Everything was done already; at most a finalizer of another controller holds it."""
    return pod.is_finished and is_shut_down(pod)


def is_out_of_service(node: Node) -> bool:
    """An administrator vouches by a taint that nothing runs there, and the node is not ready."""
    return not node.is_ready and any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)


def decide_ending(pod: Pod, ending: PodEndingReason | None, now: datetime) -> Plan:
    if ending is None:
        return NOTHING
    writes: list[Write] = [] if pod.is_finished else [_failed(pod, ending, now)]
    writes.append(
        # Marking it failed changes the version: what matters is that it is still this pod.
        Delete(resource=PODS, key=pod.key, uid=pod.uid, grace_seconds=0)
    )
    return Plan(reason=ending, writes=tuple(writes))


def _failed(pod: Pod, ending: PodEndingReason, now: datetime) -> Patch:
    status: Document = {"phase": "Failed"}
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    if ending is PodEndingReason.NODE_GONE:
        status["conditions"] = _with_disruption(pod, now)
    return status_patch(PODS, pod, status)


def _with_disruption(pod: Pod, now: datetime) -> list[Document]:
    """Others keep their conditions; the list is replaced as a whole."""
    told: Document = {
        "type": DISRUPTION,
        "status": "True",
        "lastTransitionTime": wire_time(now),
        "reason": "DeletionByPodGC",
        "message": "PodGC: node no longer exists",
    }
    if pod.metadata.generation:
        told["observedGeneration"] = pod.metadata.generation
    kept = [condition for condition in pod.status.conditions if condition.type != DISRUPTION]
    return [*map(condition_document, kept), told]


def surplus(pods: Iterable[Pod], limit: int) -> list[Pod]:
    """The finished pods beyond the limit, evicted ones and then the oldest first."""
    finished = [pod for pod in pods if pod.is_finished and not is_ended(pod)]
    excess = len(finished) - limit
    if limit <= 0 or excess <= 0:
        return []
    return sorted(finished, key=_dispensability)[:excess]


def _dispensability(pod: Pod) -> tuple[bool, float, str, str]:
    created = pod.metadata.creation_timestamp
    was_evicted = pod.status.phase == "Failed" and pod.status.reason == "Evicted"
    return (not was_evicted, created.timestamp() if created else 0.0, pod.name, pod.namespace)
