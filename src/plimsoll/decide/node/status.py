"""What a node reports about its pods.

No container is run: the volumes of a pod are real, what would use them is not. A pod whose volumes
are in place is reported as running and ready, so that controllers which wait for it go on; the
condition Ready says what is the case. A pod that is meant to end, by its restart policy, succeeds a
moment later, as if its containers had done their work: a Job completes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import IPv4Network

from plimsoll.api.meta import find_condition, wire_time
from plimsoll.api.pods import Container, Pod
from plimsoll.api.registry import Document
from plimsoll.decide.node.admission import Rejection
from plimsoll.decide.plan import Delete, Patch
from plimsoll.decide.resources import PODS
from plimsoll.decide.statuses import condition_document, status_patch

RUN_FOR = "plimsoll.dev/run-for"
"""On a pod: it succeeds after it has run for this long, as `2s`, or `forever`."""
FOREVER = "forever"
BRIEFLY = timedelta(seconds=1)
"""For so long runs a pod that is meant to end and does not say for how long it runs."""
NO_CONTAINERS = "NoContainersRun"
NO_CONTAINERS_MESSAGE = "the volumes are in place; plimsoll node runs no containers"
KILLED = 143
"""Exit code of a process that was asked to end."""


class NodeReportReason(StrEnum):
    POD = "PodReported"
    """What became of a pod is told, by its status, by its end, or by an event."""
    SIZE = "SizeReported"
    """Whether a volume has grown to its new size is told."""


class PodPhase(StrEnum):
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAddresses:
    """The addresses that a pod is reported with."""

    host_ip: str
    pod_ip: str = ""


def started(pod: Pod, addresses: PodAddresses, now: datetime) -> Patch:
    """The node has taken the pod and begins with its volumes."""
    told = {
        "Initialized": ("True", "", ""),
        "PodReadyToStartContainers": ("False", "", ""),
        "ContainersReady": ("False", "ContainersNotReady", _unready(pod)),
        "Ready": ("False", "ContainersNotReady", _unready(pod)),
    }
    return _patch(
        pod,
        {
            "phase": PodPhase.PENDING.value,
            "startTime": wire_time(now),
            "hostIP": addresses.host_ip,
            "hostIPs": [{"ip": addresses.host_ip}],
            "conditions": _conditions(pod, told, now),
            **_containers(pod, {"waiting": {"reason": "ContainerCreating"}}, ready=False),
        },
    )


def running(pod: Pod, addresses: PodAddresses, now: datetime) -> Patch:
    told = {
        "Initialized": ("True", "", ""),
        "PodReadyToStartContainers": ("True", "", ""),
        "ContainersReady": ("True", "", ""),
        "Ready": ("True", NO_CONTAINERS, NO_CONTAINERS_MESSAGE),
    }
    return _patch(
        pod,
        {
            "phase": PodPhase.RUNNING.value,
            "startTime": wire_time(pod.status.start_time or now),
            "hostIP": addresses.host_ip,
            "hostIPs": [{"ip": addresses.host_ip}],
            "podIP": addresses.pod_ip,
            "podIPs": [{"ip": addresses.pod_ip}],
            "conditions": _conditions(pod, told, now),
            **_containers(pod, {"running": {"startedAt": wire_time(now)}}, ready=True),
        },
    )


def ended(pod: Pod, phase: PodPhase, now: datetime) -> Patch:
    """Succeeded after its time, or failed because it had to go."""
    reason = "PodCompleted" if phase is PodPhase.SUCCEEDED else "PodFailed"
    told = {
        "Initialized": ("True", "", ""),
        "PodReadyToStartContainers": ("False", "", ""),
        "ContainersReady": ("False", reason, ""),
        "Ready": ("False", reason, ""),
    }
    finish = {
        "exitCode": 0 if phase is PodPhase.SUCCEEDED else KILLED,
        "reason": "Completed" if phase is PodPhase.SUCCEEDED else "Error",
        "startedAt": wire_time(pod.ready_since or now),
        "finishedAt": wire_time(now),
    }
    return _patch(
        pod,
        {
            "phase": phase.value,
            "conditions": _conditions(pod, told, now),
            **_containers(pod, {"terminated": finish}, ready=False),
        },
    )


def rejected(pod: Pod, why: Rejection, now: datetime) -> Patch:
    """The node does not take the pod."""
    return _patch(
        pod,
        {
            "phase": PodPhase.FAILED.value,
            "reason": why.reason,
            "message": f"Pod was rejected: {why.message}",
            "startTime": wire_time(now),
        },
    )


def gone(pod: Pod) -> Delete:
    """Every volume was undone: the pod object is deleted; only finalizers of others may hold it."""
    return Delete(resource=PODS, key=pod.key, uid=pod.uid, grace_seconds=0)


# When


def usual_run_time(pod: Pod) -> timedelta | None:
    """Of a pod that does not say for how long it runs; None: until it is deleted."""
    return BRIEFLY if pod.spec.restart_policy in ("Never", "OnFailure") else None


def time_left(pod: Pod, run_for: timedelta, now: datetime) -> timedelta:
    """How long a running pod still has to run."""
    since = pod.ready_since or now
    return max(since + run_for - now, timedelta())


# Addresses


def free_address(network: IPv4Network, used: Iterable[str]) -> str:
    """The lowest that no pod has; when all are taken, pods share the last."""
    taken = set(used)
    address = ""
    for host in network.hosts():
        address = str(host)
        if address not in taken:
            break
    return address


# Parts


def _unready(pod: Pod) -> str:
    names = " ".join(container.name for container in pod.spec.containers)
    return f"containers with unready status: [{names}]"


def _patch(pod: Pod, status: Document) -> Patch:
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    return status_patch(PODS, pod, status)


def _conditions(pod: Pod, told: dict[str, tuple[str, str, str]], now: datetime) -> list[Document]:
    """Others keep their conditions; the list is replaced as a whole."""
    kept = [condition_document(c) for c in pod.status.conditions if c.type not in told]
    return kept + [_condition(pod, type_, facts, now) for type_, facts in told.items()]


def _condition(pod: Pod, type_: str, facts: tuple[str, str, str], now: datetime) -> Document:
    status, reason, message = facts
    before = find_condition(pod.status.conditions, type_)
    is_new = before is None or before.status != status or before.last_transition_time is None
    since = now if is_new or before is None else before.last_transition_time or now
    told: Document = {"type": type_, "status": status, "lastTransitionTime": wire_time(since)}
    if pod.metadata.generation:
        told["observedGeneration"] = pod.metadata.generation
    return told | {k: v for k, v in (("reason", reason), ("message", message)) if v}


def _containers(pod: Pod, state: Document, *, ready: bool) -> Document:
    """Init containers that only prepare are over as soon as anything runs."""
    found: Document = {
        "containerStatuses": [_container(c, state, ready=ready) for c in pod.spec.containers]
    }
    init = [
        _container(c, state if c.is_sidecar else _prepared(state), ready=ready)
        for c in pod.spec.init_containers
    ]
    return found | ({"initContainerStatuses": init} if init else {})


def _prepared(state: Document) -> Document:
    if "running" not in state:
        return state
    at = state["running"]["startedAt"]
    over = {"exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at}
    return {"terminated": over}


def _container(container: Container, state: Document, *, ready: bool) -> Document:
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "state": state,
    }
