"""DaemonSet: one pod on every node where it belongs.

Supported: RollingUpdate with maxUnavailable, and OnDelete. A surge is refused.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.workloads import ControllerRevision, DaemonSet, RollingUpdate
from plimsoll.decide.plan import NOTHING, Plan, Write
from plimsoll.decide.resources import PODS
from plimsoll.decide.statuses import status_patch
from plimsoll.decide.workloads.availability import is_available, next_availability, share_of
from plimsoll.decide.workloads.daemon_set.nodes import DaemonPlacement, pod_document, target_node
from plimsoll.decide.workloads.owned import DAEMON_SET, creation, deletion, told, warned
from plimsoll.decide.workloads.pod_template import named
from plimsoll.decide.workloads.revisions import (
    REVISION_LABEL,
    Described,
    RevisionHistory,
    decide_history,
)

LONG_AGO = datetime.min.replace(tzinfo=UTC)


class DaemonSetReason(StrEnum):
    PLACED = "DaemonsPlaced"
    """Pods are made, updated or deleted."""
    REPORTED = "StatusReported"
    UNSELECTIVE = "SelectingAll"
    UNSUPPORTED = "UnsupportedField"
    """The set asks for what this controller cannot do: nothing is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSetView:
    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    """Those that belong to the set."""
    revisions: tuple[ControllerRevision, ...]
    named: Mapping[ObjectKey, ControllerRevision]
    resting: frozenset[str] = field(default=frozenset())
    """Nodes on which pods failed lately: the next one has to wait."""
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSetSteps:
    """Without the history nothing is done; the report is made whatever came of what was done."""

    history: Plan = NOTHING
    act: Plan = NOTHING
    report: Plan = NOTHING


def decide_daemon_set(
    set_: DaemonSet, seen: DaemonSetView, suffixes: Iterator[str]
) -> DaemonSetSteps:
    refusal = _refusal(set_)
    if refusal is not None:
        return DaemonSetSteps(act=refusal)
    if set_.is_being_deleted:
        return DaemonSetSteps()
    described = Described(
        workload=DAEMON_SET,
        owner=set_,
        template=set_.spec.template,
        collisions=set_.status.collision_count,
        hash_label=REVISION_LABEL,
    )
    history = decide_history(described, seen.revisions, seen.named)
    look = _Look(set_, seen, history)
    writes = [*look.ended(), *look.begun(suffixes)]
    if not writes and set_.spec.update_strategy.type != "OnDelete":
        writes = look.updated()
    return DaemonSetSteps(
        history=Plan(reason=DaemonSetReason.PLACED, writes=history.writes),
        act=Plan(reason=DaemonSetReason.PLACED, writes=tuple(writes)),
        report=look.report(),
    )


def _refusal(set_: DaemonSet) -> Plan | None:
    if LabelSelector.of(set_.spec.selector).is_empty:
        reason = DaemonSetReason.UNSELECTIVE
        message = "This daemon set is selecting all pods. A non-empty selector is required."
    elif _surge(set_):
        reason = DaemonSetReason.UNSUPPORTED
        message = (
            "spec.updateStrategy.rollingUpdate.maxSurge is not supported by this controller: "
            "set it to 0 and use maxUnavailable. Nothing is done until then."
        )
    else:
        return None
    return Plan(reason=reason, writes=(warned(DAEMON_SET, set_, reason, message),))


def _surge(set_: DaemonSet) -> int:
    rolling = set_.spec.update_strategy.rolling_update
    return share_of(100, rolling.max_surge, round_up=True) if rolling is not None else 0


def _rank(pod: Pod) -> tuple[bool, datetime, str]:
    """Those on a node first, then the oldest."""
    created = pod.metadata.creation_timestamp or LONG_AGO
    return (not pod.spec.node_name, created, pod.name)


class _Look:
    def __init__(self, set_: DaemonSet, seen: DaemonSetView, history: RevisionHistory) -> None:
        self.set = set_
        self.seen = seen
        self.history = history
        placement = DaemonPlacement.of(set_)
        nodes = sorted(seen.nodes, key=lambda node: node.name)
        self.wanted = [node.name for node in nodes if placement.should_run(node)]
        self.tolerated = {node.name for node in nodes if placement.may_stay(node)}
        self.known = {node.name for node in nodes}
        self.pods: dict[str, list[Pod]] = {}
        for pod in sorted(seen.pods, key=_rank):
            self.pods.setdefault(target_node(pod), []).append(pod)

    def begun(self, suffixes: Iterator[str]) -> list[Write]:
        """A node whose pod is on its way out gets the next one when that is gone."""
        writes: list[Write] = []
        for node in self.wanted:
            if node not in self.pods:
                pod = pod_document(self.set, node, self.history.update.hash)
                pod = named(pod, f"{self.set.name}-", next(suffixes))
                writes.append(creation(PODS, pod))
                message = f"Created pod: {pod['metadata']['name']}"
                writes.append(told(DAEMON_SET, self.set, "SuccessfulCreate", message))
        return writes

    def ended(self) -> list[Write]:
        return [
            write
            for node, pods in sorted(self.pods.items())
            for write in self._ended_on(node, [p for p in pods if not p.is_being_deleted])
        ]

    def _ended_on(self, node: str, pods: list[Pod]) -> list[Write]:
        if node not in self.known:
            # One that is on a node that is gone is not ours to clear away.
            return [w for pod in pods if not pod.spec.node_name for w in self._deleted(pod)]
        if node not in self.tolerated:
            return [write for pod in pods for write in self._deleted(pod)]
        running = [pod for pod in pods if not pod.is_finished]
        finished = [pod for pod in pods if pod.is_finished]
        return [
            *(write for pod in finished for write in self._cleared(node, pod)),
            *(write for pod in running[1:] for write in self._deleted(pod)),
        ]

    def _cleared(self, node: str, pod: Pod) -> list[Write]:
        where = f"daemon pod {pod.key} on node {node}"
        if pod.status.phase == "Succeeded":
            message = f"Found succeeded {where}, will try to delete it"
            return [told(DAEMON_SET, self.set, "SucceededDaemonPod", message), *self._deleted(pod)]
        if node in self.seen.resting:
            return []
        message = f"Found failed {where}, will try to kill it"
        return [warned(DAEMON_SET, self.set, "FailedDaemonPod", message), *self._deleted(pod)]

    def _deleted(self, pod: Pod) -> list[Write]:
        message = f"Deleted pod: {pod.name}"
        return [
            deletion(PODS, pod),
            told(DAEMON_SET, self.set, "SuccessfulDelete", message),
        ]

    def updated(self) -> list[Write]:
        """Old pods that do not serve are replaced at once, others as far as they may be missing."""
        rolling = self.set.spec.update_strategy.rolling_update or RollingUpdate()
        most = share_of(len(self.wanted), rolling.max_unavailable, round_up=True) or 1
        idle: list[Pod] = []
        available: list[Pod] = []
        unavailable = 0
        for _, pods in sorted(self.pods.items()):
            staying = [pod for pod in pods if not pod.is_being_deleted]
            old = next((pod for pod in staying if not self._is_updated(pod)), None)
            if len(staying) != 1 or not self._is_available(staying[0]):
                unavailable += 1
            if len(staying) == 1 and old is not None:
                (available if self._is_available(old) else idle).append(old)
        doomed = idle + available[: max(most - unavailable, 0)]
        return [write for pod in doomed for write in self._deleted(pod)]

    def _is_updated(self, pod: Pod) -> bool:
        return pod.labels.get(REVISION_LABEL) == self.history.update.hash

    def _is_available(self, pod: Pod) -> bool:
        return is_available(pod, self.set.spec.min_ready_seconds, self.seen.now)

    def report(self) -> Plan:
        status, known = self._status(), self.set.status
        stored = {
            "observedGeneration": known.observed_generation,
            "desiredNumberScheduled": known.desired_number_scheduled,
            "currentNumberScheduled": known.current_number_scheduled,
            "numberMisscheduled": known.number_misscheduled,
            "numberReady": known.number_ready,
            "updatedNumberScheduled": known.updated_number_scheduled,
            "numberAvailable": known.number_available,
            "numberUnavailable": known.number_unavailable,
        }
        if known.collision_count is not None:
            stored["collisionCount"] = known.collision_count
        writes: list[Write] = []
        if status != stored:
            writes.append(status_patch(DAEMON_SET.resource, self.set, status))
        hashes = {pod.labels.get(REVISION_LABEL, "") for pod in self.seen.pods}
        live = [r.name for r in self.history.stored if r.labels.get(REVISION_LABEL) in hashes]
        writes += self.history.surplus(live, self.set.spec.revision_history_limit)
        recheck = next_availability(self.seen.pods, self.set.spec.min_ready_seconds, self.seen.now)
        return Plan(reason=DaemonSetReason.REPORTED, writes=tuple(writes), recheck_after=recheck)

    def _status(self) -> Document:
        """Of several pods on a node the one counts that would stay."""
        first = [self.pods[node][0] for node in self.wanted if node in self.pods]
        available = sum(map(self._is_available, first))
        strays = [n for n in self.pods if n in self.known and n not in self.wanted]
        status: Document = {
            "observedGeneration": self.set.metadata.generation,
            "desiredNumberScheduled": len(self.wanted),
            "currentNumberScheduled": len(first),
            "numberMisscheduled": len(strays),
            "numberReady": sum(pod.is_ready for pod in first),
            "updatedNumberScheduled": sum(map(self._is_updated, first)),
            "numberAvailable": available,
            "numberUnavailable": len(self.wanted) - available,
        }
        if self.history.collisions:
            status["collisionCount"] = self.history.collisions
        return status
