"""The status of a Deployment: counts, and the conditions Available and Progressing."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec import structs

from plimsoll.api.meta import find_condition
from plimsoll.api.registry import Document
from plimsoll.api.workloads import Deployment, ReplicaSet, ReplicaStatus, RolloutCondition
from plimsoll.decide.statuses import condition_document
from plimsoll.decide.workloads.deployment.rollout import MAX_INT32, fenceposts_of, total_size
from plimsoll.decide.workloads.replica_set import FAILURE

PROGRESSING, AVAILABLE = "Progressing", "Available"
NEW_SET_AVAILABLE = "NewReplicaSetAvailable"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"

Conditions = tuple[RolloutCondition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sets:
    """The ReplicaSets of a Deployment."""

    new: ReplicaSet | None
    """The one with the Deployment's own template, made already or about to be."""
    old: tuple[ReplicaSet, ...]

    @property
    def all(self) -> list[ReplicaSet]:
        return [*self.old, *([self.new] if self.new is not None else [])]


def has_deadline(deployment: Deployment) -> bool:
    return deployment.spec.progress_deadline_seconds not in (None, MAX_INT32)


def condition(
    type_: str, status: str, reason: str, message: str, *, at: datetime
) -> RolloutCondition:
    return RolloutCondition(
        type=type_,
        status=status,
        reason=reason,
        message=message,
        last_update_time=at,
        last_transition_time=at,
    )


def without(conditions: Conditions, type_: str) -> Conditions:
    return tuple(known for known in conditions if known.type != type_)


def with_condition(conditions: Conditions, told: RolloutCondition) -> Conditions:
    """Told again with the same status and reason it stays as it was."""
    known = find_progress(conditions, told.type)
    if known is not None and known.status == told.status:
        if known.reason == told.reason:
            return conditions
        told = structs.replace(told, last_transition_time=known.last_transition_time)
    return (*without(conditions, told.type), told)


def find_progress(conditions: Conditions, type_: str = PROGRESSING) -> RolloutCondition | None:
    return next((known for known in conditions if known.type == type_), None)


def status_of(
    deployment: Deployment, sets: Sets, conditions: Conditions, now: datetime
) -> ReplicaStatus:
    posts = fenceposts_of(deployment)
    available = sum(set_.status.available_replicas for set_ in sets.all)
    if available >= posts.least_available:
        told = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        told = (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    return ReplicaStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(set_.status.replicas for set_ in sets.all),
        updated_replicas=sets.new.status.replicas if sets.new is not None else 0,
        ready_replicas=sum(set_.status.ready_replicas for set_ in sets.all),
        available_replicas=available,
        unavailable_replicas=max(total_size(sets.all) - available, 0),
        terminating_replicas=_terminating(sets.all),
        collision_count=deployment.status.collision_count,
        conditions=with_condition(conditions, condition(AVAILABLE, *told, at=now)),
    )


def _terminating(sets: Iterable[ReplicaSet]) -> int | None:
    """Unknown as long as a set that was looked after does not tell."""
    known = [s.status.terminating_replicas for s in sets if s.status.observed_generation]
    return None if None in known else sum(count or 0 for count in known)


def with_progress(
    deployment: Deployment, sets: Sets, status: ReplicaStatus, now: datetime
) -> ReplicaStatus:
    """The status of a rollout: it says how it gets on."""
    conditions = status.conditions
    if not has_deadline(deployment):
        conditions = without(conditions, PROGRESSING)
    elif not _was_finished(status):
        conditions = _progress(deployment, sets, status, now)
    failure = _failure(sets)
    if failure is None:
        conditions = without(conditions, FAILURE)
    else:
        conditions = with_condition(conditions, failure)
    return structs.replace(status, conditions=conditions)


def _was_finished(status: ReplicaStatus) -> bool:
    known = find_progress(status.conditions)
    is_told = known is not None and known.reason == NEW_SET_AVAILABLE
    return is_told and status.replicas == status.updated_replicas


def _progress(
    deployment: Deployment, sets: Sets, status: ReplicaStatus, now: datetime
) -> Conditions:
    who = f'Deployment "{deployment.name}"'
    if sets.new is not None:
        who = f'ReplicaSet "{sets.new.name}"'
    conditions = status.conditions
    if is_complete(deployment, status):
        text = f"{who} has successfully progressed."
        done = condition(PROGRESSING, "True", NEW_SET_AVAILABLE, text, at=now)
        return with_condition(conditions, done)
    if _has_progressed(deployment.status, status):
        text = f"{who} is progressing."
        told = condition(PROGRESSING, "True", "ReplicaSetUpdated", text, at=now)
        known = find_progress(conditions)
        if known is not None and known.holds:
            told = structs.replace(told, last_transition_time=known.last_transition_time)
        return (*without(conditions, PROGRESSING), told)
    if _is_timed_out(deployment, conditions, now):
        text = f"{who} has timed out progressing."
        timed_out = condition(PROGRESSING, "False", TIMED_OUT, text, at=now)
        return with_condition(conditions, timed_out)
    return conditions


def is_complete(deployment: Deployment, status: ReplicaStatus) -> bool:
    wanted = fenceposts_of(deployment).wanted
    counts = {status.updated_replicas, status.replicas, status.available_replicas}
    return counts == {wanted} and status.observed_generation >= deployment.metadata.generation


def _has_progressed(before: ReplicaStatus, after: ReplicaStatus) -> bool:
    old_before = before.replicas - before.updated_replicas
    old_after = after.replicas - after.updated_replicas
    return (
        after.updated_replicas > before.updated_replicas
        or old_after < old_before
        or after.ready_replicas > before.ready_replicas
        or after.available_replicas > before.available_replicas
    )


def _is_timed_out(deployment: Deployment, conditions: Conditions, now: datetime) -> bool:
    known = find_progress(conditions)
    if known is None or known.reason == NEW_SET_AVAILABLE:
        return False
    if known.reason == TIMED_OUT:
        return True
    deadline = _deadline(deployment, known)
    return deadline is not None and deadline < now


def _deadline(deployment: Deployment, known: RolloutCondition) -> datetime | None:
    seconds = deployment.spec.progress_deadline_seconds
    if seconds is None or known.last_update_time is None:
        return None
    return known.last_update_time + timedelta(seconds=seconds)


def time_to_deadline(
    deployment: Deployment, status: ReplicaStatus, now: datetime
) -> timedelta | None:
    """When to look whether the rollout is stuck; None when there is nothing to wait for."""
    known = find_progress(status.conditions)
    if not has_deadline(deployment) or known is None or known.reason == TIMED_OUT:
        return None
    if is_complete(deployment, status):
        return None
    deadline = _deadline(deployment, known)
    if deadline is None or deadline < now:
        return None
    # A second more: the deadline must have passed, and times are stored in whole seconds.
    return deadline - now + timedelta(seconds=1)


def _failure(sets: Sets) -> RolloutCondition | None:
    """Why a set cannot have its pods; the new set's trouble first."""
    for set_ in reversed(sets.all):
        known = find_condition(set_.status.conditions, FAILURE)
        if isinstance(known, RolloutCondition):
            return structs.replace(known, last_update_time=known.last_transition_time)
    return None


def status_document(status: ReplicaStatus) -> Document:
    document: Document = {
        "observedGeneration": status.observed_generation,
        "replicas": status.replicas,
        "updatedReplicas": status.updated_replicas,
        "readyReplicas": status.ready_replicas,
        "availableReplicas": status.available_replicas,
        "unavailableReplicas": status.unavailable_replicas,
        "terminatingReplicas": status.terminating_replicas,
        "conditions": [condition_document(condition) for condition in status.conditions],
    }
    if status.collision_count is not None:
        document["collisionCount"] = status.collision_count
    return document
