"""Pods: one word of status out of phase, conditions and every container's state."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.printing.ages import human_duration, parse_time, since
from plimsoll.apiserver.model.printing.phrases import NONE, condition_status

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_COMPLETED_ROW = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


@dataclass(slots=True)
class _Summary:
    reason: str
    ready: int = 0
    restarts: int = 0
    restarted_at: datetime = _LONG_AGO

    def count_restarts(self, container: Document) -> None:
        self.restarts += container.get("restartCount", 0)
        terminated = container.get("lastState", {}).get("terminated") or {}
        finished_at = parse_time(terminated.get("finishedAt"))
        if finished_at:
            self.restarted_at = max(self.restarted_at, finished_at)


def pod_cells(pod: Document, now: datetime) -> list[Any]:
    spec, status = pod.get("spec", {}), pod.get("status", {})
    summary = _summary(pod)
    sidecars = _sidecars(spec)
    total = len(spec.get("containers", ())) + len(sidecars)
    addresses = status.get("podIPs") or [{}]
    return [
        pod["metadata"].get("name", ""),
        f"{summary.ready}/{total}",
        _after_deletion(pod, summary.reason),
        _restarts(summary, now),
        since(pod["metadata"].get("creationTimestamp"), now),
        addresses[0].get("ip") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(spec, status.get("conditions", ())),
    ]


def pod_row_conditions(pod: Document) -> list[Document]:
    """What tells kubectl that a row is of a pod that ended."""
    phase = pod.get("status", {}).get("phase")
    if phase not in _COMPLETED_ROW:
        return []
    message = _COMPLETED_ROW[phase]
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}]


def _summary(pod: Document) -> _Summary:
    spec, status = pod.get("spec", {}), pod.get("status", {})
    conditions = status.get("conditions", ())
    summary = _Summary(_own_reason(status))
    sidecar_restarts = _Summary("")
    sidecars = _sidecars(spec)
    for container in status.get("initContainerStatuses", ()):
        if container.get("name") in sidecars:
            sidecar_restarts.count_restarts(container)
    initializing = _follow_init_containers(summary, status, spec)
    if not initializing or condition_status(conditions, "Initialized") == "True":
        # Once the pod runs, restarts during its initialization are history.
        summary.restarts = sidecar_restarts.restarts
        summary.restarted_at = sidecar_restarts.restarted_at
        _follow_containers(summary, status)
    return summary


def _own_reason(status: Document) -> str:
    gated = any(
        c.get("type") == "PodScheduled" and c.get("reason") == "SchedulingGated"
        for c in status.get("conditions", ())
    )
    if gated:
        return "SchedulingGated"
    return str(status.get("reason") or status.get("phase", ""))


def _sidecars(spec: Document) -> set[str]:
    """Init containers that keep running beside the others."""
    return {
        container.get("name", "")
        for container in spec.get("initContainers", ())
        if container.get("restartPolicy") == "Always"
    }


def _follow_init_containers(summary: _Summary, status: Document, spec: Document) -> bool:
    """Whether an init container still holds the pod back; then the reason is its."""
    sidecars = _sidecars(spec)
    for index, container in enumerate(status.get("initContainerStatuses", ())):
        summary.count_restarts(container)
        state = container.get("state", {})
        if "terminated" in state and not state["terminated"].get("exitCode"):
            continue
        if container.get("name") in sidecars and container.get("started"):
            summary.ready += bool(container.get("ready"))
            continue
        steps = f"{index}/{len(spec.get('initContainers', ()))}"
        summary.reason = f"Init:{_init_reason(state) or steps}"
        return True
    return False


def _init_reason(state: Document) -> str:
    if "terminated" in state:
        return _end(state["terminated"])
    waiting = state.get("waiting", {}).get("reason", "")
    return "" if waiting == "PodInitializing" else str(waiting)


def _end(terminated: Document) -> str:
    """How a container ended, in the best words there are."""
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _follow_containers(summary: _Summary, status: Document) -> None:
    running, failure = False, ""
    for container in reversed(status.get("containerStatuses", ())):
        summary.count_restarts(container)
        state = container.get("state", {})
        if state.get("waiting", {}).get("reason"):
            summary.reason = state["waiting"]["reason"]
        elif "terminated" in state:
            summary.reason = _end(state["terminated"])
            if state["terminated"].get("exitCode"):
                failure = summary.reason
        elif container.get("ready") and "running" in state:
            running = True
            summary.ready += 1
    if summary.reason == "Completed":
        ready = condition_status(status.get("conditions", ()), "Ready") == "True"
        summary.reason = _although_completed(running=running, ready=ready, failure=failure)


def _although_completed(*, running: bool, ready: bool, failure: str) -> str:
    """One container is done; the pod is only when all of them are."""
    if running and ready:
        return "Running"
    if failure:
        return failure
    return "NotReady" if running else "Completed"


def _after_deletion(pod: Document, reason: str) -> str:
    status = pod.get("status", {})
    if not pod["metadata"].get("deletionTimestamp"):
        return reason
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return reason if status.get("phase") in _COMPLETED_ROW else "Terminating"


def _restarts(summary: _Summary, now: datetime) -> str:
    if not summary.restarts or summary.restarted_at == _LONG_AGO:
        return str(summary.restarts)
    return f"{summary.restarts} ({human_duration(now - summary.restarted_at)} ago)"


def _readiness_gates(spec: Document, conditions: Iterable[Document]) -> str:
    gates = spec.get("readinessGates", ())
    if not gates:
        return NONE
    open_gates = sum(condition_status(conditions, g.get("conditionType")) == "True" for g in gates)
    return f"{open_gates}/{len(gates)}"
