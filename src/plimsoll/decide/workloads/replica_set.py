"""ReplicaSet: pods are created or deleted until there are as many as it says."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from plimsoll.api.meta import find_condition
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.api.workloads import ReplicaSet, ReplicaStatus, RolloutCondition
from plimsoll.decide.plan import Plan, Write
from plimsoll.decide.resources import PODS
from plimsoll.decide.statuses import condition_document, status_patch
from plimsoll.decide.workloads.availability import is_available, next_availability
from plimsoll.decide.workloads.deletion_order import in_deletion_order
from plimsoll.decide.workloads.owned import (
    REPLICA_SET,
    controller_reference,
    creation,
    deletion,
    told,
)
from plimsoll.decide.workloads.pod_template import labels_of, named, pod_from_template

BURST = 500
"""Pods made or deleted at once; the rest follows."""
FAILURE = "ReplicaFailure"


class ReplicaSetReason(StrEnum):
    SCALED = "ReplicasScaled"
    """Pods are made or deleted."""
    REPORTED = "StatusReported"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSetView:
    active: tuple[Pod, ...]
    """Those of its pods that run or may come to run."""
    leaving: tuple[Pod, ...] = ()
    related: tuple[Pod, ...] = ()
    """Pods of all sets with the same owner: they should be spread over nodes."""
    now: datetime


def replicas_of(set_: ReplicaSet) -> int:
    return 1 if set_.spec.replicas is None else set_.spec.replicas


def decide_replica_set(set_: ReplicaSet, seen: ReplicaSetView, suffixes: Iterator[str]) -> Plan:
    """`suffixes` are the endings of new pods' names."""
    missing = replicas_of(set_) - len(seen.active)
    if set_.is_being_deleted or not missing:
        return Plan(reason=ReplicaSetReason.SCALED)
    if missing > 0:
        writes = [w for _ in range(min(missing, BURST)) for w in _new_pod(set_, next(suffixes))]
    else:
        related = seen.related or seen.active
        doomed = in_deletion_order(seen.active, related, seen.now)[: min(-missing, BURST)]
        writes = [write for pod in doomed for write in _end(set_, pod)]
    return Plan(reason=ReplicaSetReason.SCALED, writes=tuple(writes))


def _new_pod(set_: ReplicaSet, suffix: str) -> tuple[Write, ...]:
    owner = controller_reference(REPLICA_SET, set_)
    pod = pod_from_template(set_.spec.template, set_.namespace, owner)
    pod = named(pod, f"{set_.name}-", suffix)
    message = f"Created pod: {pod['metadata']['name']}"
    return (creation(PODS, pod), told(REPLICA_SET, set_, "SuccessfulCreate", message))


def _end(set_: ReplicaSet, pod: Pod) -> tuple[Write, ...]:
    message = f"Deleted pod: {pod.name}"
    return (deletion(PODS, pod), told(REPLICA_SET, set_, "SuccessfulDelete", message))


def decide_replica_set_report(set_: ReplicaSet, seen: ReplicaSetView, *, problem: str) -> Plan:
    """`problem` is what kept pods from being made or deleted, if anything did."""
    status = _status(set_, seen, problem)
    writes = (
        () if status == _known_status(set_) else (status_patch(REPLICA_SET.resource, set_, status),)
    )
    recheck = None
    if status["readyReplicas"] != status["availableReplicas"]:
        recheck = next_availability(seen.active, set_.spec.min_ready_seconds, seen.now)
    return Plan(reason=ReplicaSetReason.REPORTED, writes=writes, recheck_after=recheck)


def _status(set_: ReplicaSet, seen: ReplicaSetView, problem: str) -> Document:
    template = LabelSelector.of_labels(labels_of(set_.spec.template))
    ready = [pod for pod in seen.active if pod.is_ready]
    available = [p for p in ready if is_available(p, set_.spec.min_ready_seconds, seen.now)]
    return {
        "observedGeneration": set_.metadata.generation,
        "replicas": len(seen.active),
        "fullyLabeledReplicas": sum(template.matches(pod.labels) for pod in seen.active),
        "readyReplicas": len(ready),
        "availableReplicas": len(available),
        "terminatingReplicas": len(seen.leaving),
        "conditions": _conditions(set_, seen, problem),
    }


def _known_status(set_: ReplicaSet) -> Document:
    status: ReplicaStatus = set_.status
    return {
        "observedGeneration": status.observed_generation,
        "replicas": status.replicas,
        "fullyLabeledReplicas": status.fully_labeled_replicas,
        "readyReplicas": status.ready_replicas,
        "availableReplicas": status.available_replicas,
        "terminatingReplicas": status.terminating_replicas,
        "conditions": [condition_document(condition) for condition in status.conditions],
    }


def _conditions(set_: ReplicaSet, seen: ReplicaSetView, problem: str) -> list[Document]:
    """A failure is told once; it stands as long as it lasts."""
    known = set_.status.conditions
    if problem and find_condition(known, FAILURE):
        return [condition_document(condition) for condition in known]
    others = [condition for condition in known if condition.type != FAILURE]
    if problem:
        is_short = len(seen.active) < replicas_of(set_)
        failure = RolloutCondition(
            type=FAILURE,
            status="True",
            reason="FailedCreate" if is_short else "FailedDelete",
            message=problem,
            last_transition_time=seen.now,
        )
        others.append(failure)
    return [condition_document(condition) for condition in others]
